// Runs local-aws-sqs: node local.mjs PORT. It keeps everything in memory.
import local from "local-aws-sqs";

await local.createSqsServer({
  port: Number(process.argv[2]),
  hostname: "127.0.0.1",
  region: "us-east-1",
  accountId: "123456789012",
  emulateQueueCreationLifecycle: false, // a test may take a name again at once
});
console.log("up");
