import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generate } from 'selfsigned';

/** Certificates of an authority of our own, as files. */
export interface MadeCertificate {
  key: string;
  cert: string;
  keyFile: string;
  certFile: string;
}

export interface Wanted {
  commonName: string;
  /** names of hosts, and addresses */
  for?: readonly string[];
  by?: MadeCertificate;
  authority?: boolean;
  /** days from now; negative: it has expired */
  days?: number;
}

const DAY_MS = 86_400_000;

export async function makeCertificate(folder: string, wanted: Wanted): Promise<MadeCertificate> {
  const { commonName, by, authority = false, days = 90 } = wanted;
  const names = (wanted.for ?? []).map((name) =>
    /^[\d.]+$/.test(name) ? { type: 7 as const, ip: name } : { type: 2 as const, value: name },
  );
  const until = new Date(Date.now() + days * DAY_MS);
  const made = await generate([{ name: 'commonName', value: commonName }], {
    algorithm: 'sha256',
    keySize: 2048,
    notBeforeDate: new Date(Math.min(Date.now(), until.getTime()) - DAY_MS),
    notAfterDate: until,
    extensions: [
      { name: 'basicConstraints', cA: authority, critical: true },
      ...(authority ? [{ name: 'keyUsage' as const, keyCertSign: true, cRLSign: true, critical: true }] : []),
      ...(names.length > 0 ? [{ name: 'subjectAltName' as const, altNames: names }] : []),
    ],
    ...(by && { ca: { key: by.key, cert: by.cert } }),
  });
  const file = (end: string, content: string): string => {
    const path = join(folder, `${commonName.replaceAll(' ', '-')}.${end}`);
    writeFileSync(path, content, { mode: 0o600 });
    return path;
  };
  return { key: made.private, cert: made.cert, keyFile: file('key', made.private), certFile: file('pem', made.cert) };
}
