// Takes webhooks: WEBHOOK_SECRET=whsec_... PORT=9000 node receiver.mjs
import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";

const SECRET = process.env.WEBHOOK_SECRET;
const TOLERANCE = 5 * 60; // seconds: an older message may be one that somebody recorded
const MOST = 64 * 1024; // bytes: no message is longer
const seen = new Set(); // in earnest: a unique column of your database

// Throws unless the message is ours, unchanged and new. `body`: a Buffer, as it was read.
function verify(secret, headers, body) {
  const id = headers["webhook-id"] ?? "";
  const timestamp = headers["webhook-timestamp"] ?? "";
  if (!/^[0-9]+$/.test(timestamp)) throw new Error("no timestamp");
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > TOLERANCE) {
    throw new Error("too old, or a clock is wrong");
  }
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  const digest = createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body).digest();
  const expected = Buffer.from(`v1,${digest.toString("base64")}`);
  // There are two while you change the secret; either is enough.
  const given = (headers["webhook-signature"] ?? "").split(" ").map((one) => Buffer.from(one));
  if (!given.some((one) => one.length === expected.length && timingSafeEqual(one, expected))) {
    throw new Error("not signed with this secret");
  }
}

async function read(request) {
  const parts = [];
  let length = 0;
  for await (const part of request) {
    parts.push(part);
    length += part.length;
    if (length > MOST) throw new Error("too long");
  }
  return Buffer.concat(parts);
}

createServer(async (request, response) => {
  try {
    const body = await read(request);
    verify(SECRET, request.headers, body);
    const id = request.headers["webhook-id"];
    if (!seen.has(id)) { // the same message may come again
      seen.add(id);
      const event = JSON.parse(body);
      console.log(event.type, event.sequence, JSON.stringify(event.data));
    }
    response.writeHead(204).end();
  } catch (refused) {
    response.writeHead(401).end(refused.message);
  }
}).listen(Number(process.env.PORT ?? 9000), "127.0.0.1");
