#!/usr/bin/env node
// Checks receipts of Fetch. It needs this file, Node 18 or later, and nothing of Fetch or the network:
//
//   node verify-receipt.js [--key FINGERPRINT] receipt.json…
//
// A receipt is what `fetch receipt ID --json` prints. Any changed byte is found. The key that signed is in the receipt,
// so whoever has another key can sign other words: compare the fingerprint with that of the home (`fetch receipt`
// prints it), or give it with --key. Several receipts with numbers in a row are checked as a chain, too.
// Exit code 0: all are unchanged. 1: at least one is not. 2: called wrongly.
import { createHash, createPublicKey, verify } from 'node:crypto';
import { readFileSync } from 'node:fs';

const FORMAT = 'fetch-receipt-1';
const FIELDS = ['format', 'number', 'previous', 'body', 'digest', 'hash', 'signature', 'key'];
const sha256 = (data) => createHash('sha256').update(data).digest('hex');

/** Throws what is wrong, in a sentence. Returns the receipt with the fingerprint of its key. */
function read(bytes) {
  const text = bytes.toString('utf8');
  if (!Buffer.from(text, 'utf8').equals(bytes)) throw new Error('It is no text.');
  let receipt;
  try {
    receipt = JSON.parse(text);
  } catch {
    throw new Error('It is no JSON.');
  }
  const written = [JSON.stringify(receipt), JSON.stringify(receipt, null, 2)];
  if (!written.some((each) => text === each || text === `${each}\n`))
    throw new Error('It is not written as Fetch writes it.');
  if (receipt?.format !== FORMAT) throw new Error(`Its format is not ${FORMAT}.`);
  if (Object.keys(receipt).join() !== FIELDS.join()) throw new Error('Its fields are not those of a receipt.');
  const { number, previous, body, digest, hash, signature, key } = receipt;
  if (digest !== sha256(JSON.stringify(body))) throw new Error('What it says was changed.');
  if (hash !== sha256(`${number}\n${previous}\n${digest}`)) throw new Error('Its place in the chain was changed.');
  const der = Buffer.from(key, 'base64');
  const signed = Buffer.from(signature, 'base64');
  // base64 has several spellings of the same bytes
  if (der.toString('base64') !== key || signed.toString('base64') !== signature)
    throw new Error('Its key or signature was changed.');
  let valid = false;
  try {
    const publicKey = createPublicKey({ key: der, type: 'spki', format: 'der' });
    valid =
      publicKey.asymmetricKeyType === 'ed25519' &&
      verify(null, Buffer.from(`${FORMAT}\n${key}\n${hash}`), publicKey, signed);
  } catch {
    // the key is none
  }
  if (!valid) throw new Error('Its signature does not fit.');
  return { ...receipt, fingerprint: sha256(der) };
}

const args = process.argv.slice(2);
const at = args.indexOf('--key');
const expected = at < 0 ? undefined : args.splice(at, 2)[1];
if (args.length === 0 || (at >= 0 && !expected)) {
  console.error('Usage: node verify-receipt.js [--key FINGERPRINT] receipt.json…');
  process.exit(2);
}
const known = new Map();
for (const file of args) {
  try {
    const receipt = read(readFileSync(file));
    if (expected && receipt.fingerprint !== expected.toLowerCase())
      throw new Error(`It was signed by another key: ${receipt.fingerprint}.`);
    known.set(receipt.number, receipt);
    const before = known.get(receipt.number - 1);
    const after = known.get(receipt.number + 1);
    if ((before && before.hash !== receipt.previous) || (after && after.previous !== receipt.hash))
      throw new Error('It does not fit the receipt beside it.');
    const { kind, id, status } = receipt.body;
    console.log(`${file}: receipt ${receipt.number} of ${kind} ${id} (${status}) is unchanged.`);
    console.log(`  Signed by the key ${receipt.fingerprint}`);
  } catch (error) {
    console.error(`${file}: ${error.message}`);
    process.exitCode = 1;
  }
}
