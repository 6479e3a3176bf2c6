import { spawnSync } from 'node:child_process';
import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { fingerprintOf } from '../../../src/cli/instance/home/receipt-key.ts';

const VERIFIER = fileURLToPath(new URL('../../../bin/verify-receipt.js', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'fetch-receipts-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const home = generateKeyPairSync('ed25519');
const publicText = (key: KeyObject): string => key.export({ type: 'spki', format: 'der' }).toString('base64');
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** As the format says, and not as our own code does it. */
function receipt(number: number, previous: string, about: object, key = home) {
  const body = { kind: 'task', id: `tsk_${number}`, status: 'completed', ...about };
  const digest = sha256(JSON.stringify(body));
  const hash = sha256(`${number}\n${previous}\n${digest}`);
  const publicKey = publicText(key.publicKey);
  const signed = Buffer.from(`fetch-receipt-1\n${publicKey}\n${hash}`);
  const signature = sign(null, signed, key.privateKey).toString('base64');
  return { format: 'fetch-receipt-1', number, previous, body, digest, hash, signature, key: publicKey };
}

const put = (name: string, content: string | Buffer): string => {
  writeFileSync(join(folder, name), content);
  return name;
};
/** Without anything of this program in reach, and without a network that it could use. */
function verified(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [VERIFIER, ...args], {
    cwd: folder,
    encoding: 'utf8',
    env: {},
    maxBuffer: 64 * 1024 * 1024,
  });
  return { status, stdout, stderr };
}

const first = receipt(1, '', { shown: 'Push to main? “yes” 👍', approvals: [{ decision: 'allow' }], commit: 'abc' });
const second = receipt(2, first.hash, {});
const pretty = `${JSON.stringify(first, null, 2)}\n`;

describe('the verifier of receipts', () => {
  it('knows a receipt as the command prints it, and as the API answers it, and says who signed', () => {
    const files = [put('pretty.json', pretty), put('compact.json', JSON.stringify(first))];
    const { status, stdout } = verified(...files);
    expect(status).toBe(0);
    expect(stdout).toContain('pretty.json: receipt 1 of task tsk_1 (completed) is unchanged.');
    expect(stdout).toContain(`Signed by the key ${fingerprintOf(first.key)}`);
  });

  it('finds every changed, added and missing byte', () => {
    const bytes = Buffer.from(pretty);
    const names: string[] = [];
    for (let at = 0; at < bytes.length; at++) {
      const changed = Buffer.from(bytes);
      changed[at]! ^= 1 << (at % 8);
      names.push(put(`${at}.changed`, changed));
      if (at % 7 === 0)
        names.push(put(`${at}.missing`, Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1)])));
      if (at % 11 === 0)
        names.push(put(`${at}.added`, Buffer.concat([bytes.subarray(0, at), Buffer.from(' '), bytes.subarray(at)])));
    }
    const { status, stdout, stderr } = verified(...names);
    expect(status).toBe(1);
    // without its last line end it is still the same receipt
    const lastByte = `${bytes.length - 1}.missing`;
    expect(stdout.split('\n').filter((line) => line.includes('is unchanged') && !line.startsWith(lastByte))).toEqual(
      [],
    );
    expect(stderr.trim().split('\n').length).toBeGreaterThanOrEqual(names.length - 1);
  });

  it('finds words that another key has signed, where the key of the home is known', () => {
    const file = put('other.json', JSON.stringify(receipt(1, '', { commit: 'other' }, generateKeyPairSync('ed25519'))));
    expect(verified('--key', fingerprintOf(first.key), file)).toMatchObject({ status: 1 });
    expect(verified('--key', fingerprintOf(first.key).toUpperCase(), put('own.json', pretty)).status).toBe(0);
  });

  it('finds a receipt that was signed without its place, or taken from another place', () => {
    for (const changed of [
      { ...first, number: 7 },
      { ...first, previous: second.hash },
      { ...first, more: 1 },
    ])
      expect(verified(put('place.json', JSON.stringify(changed))).status).toBe(1);
  });

  it('checks receipts in a row as a chain', () => {
    const files = [put('1.json', pretty), put('2.json', JSON.stringify(second))];
    expect(verified(...files).status).toBe(0);
    expect(verified(...files.toReversed()).status).toBe(0);
    const broken = put('2.json', JSON.stringify(receipt(2, sha256('another first one'), {})));
    const { status, stderr } = verified('1.json', broken);
    expect({ status, stderr }).toEqual({ status: 1, stderr: '2.json: It does not fit the receipt beside it.\n' });
  });

  it('says how it is called', () => {
    expect(verified()).toMatchObject({ status: 2, stderr: expect.stringContaining('Usage') });
    expect(verified('missing.json')).toMatchObject({ status: 1, stderr: expect.stringContaining('ENOENT') });
  });
});
