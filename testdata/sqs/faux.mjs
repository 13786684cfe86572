// Runs fauxqs: node faux.mjs PORT FOLDER. What it holds is in the folder, so that
// it goes on from there when it is killed and started again.
//
// The package's own start listens on every address of the machine and logs every
// request, so its parts are put together here.
import { buildApp } from "fauxqs";

const part = (name) => import(new URL(`../${name}`, import.meta.resolve("fauxqs")));
const { SqsStore } = await part("dist/sqs/sqsStore.js");
const { SnsStore } = await part("dist/sns/snsStore.js");
const { S3Store } = await part("dist/s3/s3Store.js");
const { PersistenceManager } = await part("dist/persistence.js");

const [port, folder] = process.argv.slice(2);
const sqsStore = new SqsStore();
const snsStore = new SnsStore();
const s3Store = new S3Store();
const disk = new PersistenceManager(folder);
disk.db.exec("PRAGMA synchronous = OFF"); // the process is killed, never the machine
// Its own sets a column to NULL that may not be, and with that loses the message.
const ready = disk.db.prepare("UPDATE sqs_messages SET receipt_handle = NULL, visibility_deadline = NULL WHERE message_id = ?");
disk.updateMessageReady = (id) => ready.run(id);
disk.load(sqsStore, snsStore, s3Store);
sqsStore.persistence = disk;
for (const queue of sqsStore.allQueues()) queue.persistence = disk;

const app = buildApp({ logger: false, stores: { sqsStore, snsStore, s3Store } });
// What a request changes is one transaction, which is there before its answer.
let open = false;
app.addHook("preHandler", async () => {
  if (!open) disk.db.exec("BEGIN");
  open = true;
});
app.addHook("onSend", async () => {
  if (open) disk.db.exec("COMMIT");
  open = false;
});
await app.listen({ port: Number(port), host: "127.0.0.1" });
console.log("up");
