// Sends N pushes through @parse/node-apn, at most 1000 at once; prints how many were accepted.
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';

const [modules, port, ca, key, count] = process.argv.slice(2);
const apn = createRequire(`${modules}/`)('@parse/node-apn');
const provider = new apn.Provider({
  token: { key, keyId: 'KEY1234567', teamId: 'TEAM123456' },
  address: 'localhost',
  port: Number(port),
  ca: readFileSync(ca),
  production: false,
});

const note = new apn.Notification({ title: 'Your parcel', body: 'x'.repeat(200) });
note.topic = 'com.example.demo';
note.pushType = 'alert';
note.payload = { order: '8812' };

let sent = 0;
let accepted = 0;
async function worker(until) {
  while (sent < until) {
    const token = (sent++).toString(16).padStart(64, '0');
    const answer = await provider.send(note, token);
    accepted += answer.sent.length;
  }
}
await worker(1);  // alone, as APNs asks of a new connection
await Promise.all(Array.from({ length: 1000 }, () => worker(Number(count))));
console.log(accepted);
provider.shutdown();
