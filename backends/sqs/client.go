package sqs

import (
	"bytes"
	"context"
	"io"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// connect makes the client. The region and the endpoint are the policy's alone;
// of the environment only the credentials are taken, unless the policy names
// those too.
func connect(ctx context.Context, b *Backend, env func(string) (string, bool)) (*sqs.Client, error) {
	load := []func(*config.LoadOptions) error{config.WithRegion(b.Region)}
	switch {
	case b.AccessKeyEnv != "":
		keys, err := keysOf(b, env)
		if err != nil {
			return nil, err
		}
		none := []string{}
		load = append(load, config.WithCredentialsProvider(keys), config.WithSharedConfigFiles(none), config.WithSharedCredentialsFiles(none))
	case b.Profile != "":
		load = append(load, config.WithSharedConfigProfile(b.Profile))
	}
	cfg, err := config.LoadDefaultConfig(ctx, load...)
	if err != nil {
		return nil, backends.Errorf(backends.BadMapping, err, "the AWS configuration cannot be loaded").
			WithHint("check the profile and the files in ~/.aws")
	}
	if _, err := cfg.Credentials.Retrieve(ctx); err != nil {
		return nil, backends.Errorf(backends.NoAccess, err, "there are no credentials for AWS").
			WithHint("name a profile or two variables of keys in the backend, or give the role of this machine the permissions")
	}
	return sqs.NewFromConfig(cfg, func(o *sqs.Options) {
		o.BaseEndpoint = nil
		if b.Endpoint != "" {
			o.BaseEndpoint = aws.String(b.Endpoint)
		}
		o.HTTPClient = wholeBody{o.HTTPClient}
	}), nil
}

func keysOf(b *Backend, env func(string) (string, bool)) (aws.CredentialsProvider, error) {
	values := map[string]string{}
	for _, name := range []string{b.AccessKeyEnv, b.SecretKeyEnv, b.TokenEnv} {
		if name == "" {
			continue
		}
		value, ok := env(name)
		if !ok || value == "" {
			return nil, backends.Errorf(backends.BadMapping, nil, "the environment variable %s is not set", name).
				WithHint("set %s where redrive-mcp runs and start it anew", name)
		}
		values[name] = value
	}
	return credentials.NewStaticCredentialsProvider(values[b.AccessKeyEnv], values[b.SecretKeyEnv], values[b.TokenEnv]), nil
}

// wholeBody sends a copy of a request's body. The SDK closes its own as soon as
// an answer begins. Where the transport is still at the body's end it takes that
// for a failure to write and closes the connection under the answer, so that the
// messages in it are lost to us until their visibility runs out.
type wholeBody struct{ next sqs.HTTPClient }

func (c wholeBody) Do(r *http.Request) (*http.Response, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return c.next.Do(r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Body = io.NopCloser(bytes.NewReader(body))
	return c.next.Do(r)
}

// once is for a send to a standard queue: a second try could send twice. It is
// made only where the first surely did nothing.
func once(o *sqs.Options) {
	o.Retryer = retry.NewStandard(func(r *retry.StandardOptions) {
		r.Retryables = []retry.IsErrorRetryable{retry.IsErrorRetryableFunc(func(err error) aws.Ternary {
			return aws.BoolTernary(notProcessed(err))
		})}
	})
}
