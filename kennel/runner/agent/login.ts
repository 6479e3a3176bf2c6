import { lstatSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** Long strings without spaces, whatever the format. Paths and addresses are also in log-ins, and are no secrets. */
const secretsOf = (login: string): string[] =>
  (login.match(/[^\s"',:{}[\]\\]{20,}/g) ?? []).filter((text) => !text.startsWith('/'));

/**
 * Copies the agent's log-in, which is mounted read only, to where the agent looks for it, because agents renew it in
 * place and write beside it. A later run keeps what an earlier one renewed, unless the person has logged in again.
 * Returns what must be hidden in everything that is shown or stored.
 */
export function copyLogin(mounted: string, own: string): string[] {
  const login = readFileSync(mounted, 'utf8');
  const kept = lstatSync(own, { throwIfNoEntry: false });
  if (kept?.isFile() && kept.mtimeMs >= statSync(mounted).mtimeMs)
    return secretsOf(`${login} ${readFileSync(own, 'utf8')}`);
  mkdirSync(dirname(own), { recursive: true, mode: 0o700 });
  const part = `${own}.part`;
  rmSync(part, { recursive: true, force: true });
  writeFileSync(part, login, { mode: 0o600, flag: 'wx' });
  renameSync(part, own);
  return secretsOf(login);
}
