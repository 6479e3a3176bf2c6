import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type FileProblem, fileSentence, type Names } from '../../domain/connections/sentences.ts';

/** Files that a connection with TLS needs, by the settings that name them. */
export interface TlsFiles {
  authority: string | undefined;
  certificate: string | undefined;
  key: string | undefined;
}
export interface TlsMaterial {
  ca?: Buffer;
  cert?: Buffer;
  key?: Buffer;
}

/** Reads the files, and returns what is wrong with each in sentences. */
export function readTlsFiles(names: Names, files: TlsFiles): { material: TlsMaterial; problems: string[] } {
  const problems: string[] = [];
  const say = (problem: FileProblem, setting: string, file: string) =>
    void problems.push(fileSentence(problem, setting, file));
  const read = (setting: string, file: string | undefined): Buffer | undefined => {
    if (!file) return undefined;
    if (file === 'system') return void say('system', setting, file);
    try {
      return readFileSync(file);
    } catch (error) {
      say((error as NodeJS.ErrnoException).code === 'ENOENT' ? 'missing' : 'unreadable', setting, file);
      return undefined;
    }
  };
  const ca = read(names.authority, files.authority);
  const cert = read(names.certificate, files.certificate);
  const key = read(names.key, files.key);
  if (ca && !certificateIn(ca)) say('no certificate', names.authority, files.authority!);
  const ours = cert && certificateIn(cert);
  if (cert && !ours) say('no certificate', names.certificate, files.certificate!);
  const secret = key && keyIn(key);
  if (key && !secret) say('no key', names.key, files.key!);
  if (ours && secret && !ours.checkPrivateKey(secret)) say('not its key', names.key, files.key!);
  if (ours && Date.parse(ours.validTo) < Date.now()) say('expired', names.certificate, files.certificate!);
  return { material: { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) }, problems };
}

/** The first certificate of a chain. */
function certificateIn(pem: Buffer): X509Certificate | null {
  try {
    return pem.includes('-----BEGIN CERTIFICATE-----') ? new X509Certificate(pem) : null;
  } catch {
    return null;
  }
}

function keyIn(pem: Buffer) {
  try {
    return createPrivateKey(pem);
  } catch {
    return null;
  }
}
