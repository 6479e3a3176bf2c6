import { styleText } from 'node:util';

/** `warning`: works with restrictions. `mend`: a command that fixes it, or null. */
export interface Finding {
  name: string;
  state: 'ok' | 'warning' | 'missing';
  version: string | null;
  detail: string;
  mend: string | null;
}

/** 1 when something needed is missing. */
export const exitCodeOf = (findings: readonly Finding[]): 0 | 1 =>
  findings.some(({ state }) => state === 'missing') ? 1 : 0;

/** Prints findings for a person, or as one JSON object. Returns the exit code. */
export function printFindings(findings: Finding[], options: { json?: boolean } = {}): 0 | 1 {
  const code = exitCodeOf(findings);
  if (options.json) {
    process.stdout.write(`${JSON.stringify({ ok: code === 0, findings })}\n`);
    return code;
  }
  const marks = { ok: styleText('green', '✓'), warning: styleText('yellow', '!'), missing: styleText('red', '✗') };
  for (const { name, state, version, detail, mend } of findings) {
    process.stdout.write(
      `${marks[state]} ${[name, version, detail].filter(Boolean).join('  ')}\n${mend ? `    ${mend}\n` : ''}`,
    );
  }
  return code;
}

/** An address as it may be shown: a user, a password and a query, which may be a key, are left out. */
export function shownAddress(address: string): string {
  const { username, password, search, protocol, host, pathname } = new URL(address);
  return username === '' && password === '' && search === '' ? address : `${protocol}//${host}${pathname}`;
}
