import { english } from '../texts/say.ts';

/**
 * Finds what looks like a key in text that is about to leave the machine. The table has only formats with a beginning
 * of their own, so that a finding is hardly ever wrong: a scanner that cries about every long word is one that people
 * learn to pass by.
 */

interface SecretFormat {
  kind: string;
  format: RegExp;
}

/**
 * From the documentation of each service and the rules of gitleaks (MIT),
 * https://github.com/gitleaks/gitleaks/blob/master/config/gitleaks.toml
 */
const FORMATS: readonly SecretFormat[] = [
  { kind: 'a private key', format: /-----BEGIN (?:[A-Z0-9]{2,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----/ },
  { kind: 'an age key', format: /AGE-SECRET-KEY-1[0-9A-Z]{58}/ },
  { kind: 'a GitHub token', format: /\bgh[pousr]_[A-Za-z0-9]{36}/ },
  { kind: 'a GitHub token', format: /\bgithub_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}/ },
  { kind: 'a GitLab token', format: /\bglpat-[A-Za-z0-9_-]{20}/ },
  { kind: 'an AWS access key', format: /\b(?:AKIA|ASIA)[A-Z2-7]{16}\b(?<!EXAMPLE)/ },
  {
    kind: 'an AWS secret key',
    format:
      /aws_?secret_?(?:access_?)?key['"]?\s{0,4}[:=]\s{0,4}['"]?[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+])(?<!EXAMPLEKEY)/i,
  },
  { kind: 'a Google API key', format: /\bAIza[A-Za-z0-9_-]{35}/ },
  { kind: 'a Google client secret', format: /\bGOCSPX-[A-Za-z0-9_-]{28}/ },
  { kind: 'an Anthropic key', format: /\bsk-ant-[a-z]{3,9}\d\d-[A-Za-z0-9_-]{40}/ },
  { kind: 'an OpenAI key', format: /\bsk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{40}/ },
  { kind: 'an OpenAI key', format: /\bsk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}/ },
  { kind: 'an OpenRouter key', format: /\bsk-or-v1-[0-9a-f]{64}/ },
  { kind: 'a Hugging Face token', format: /\bhf_[A-Za-z]{34}\b/ },
  { kind: 'a Slack token', format: /\bxox[abeoprs]-[0-9A-Za-z]{8,64}-[0-9A-Za-z-]{8,200}/ },
  { kind: 'a Slack webhook', format: /hooks\.slack\.com\/services\/T[0-9A-Z]{8,12}\/B[0-9A-Z]{8,12}\/[0-9A-Za-z]{24}/ },
  { kind: 'a Stripe key', format: /\b[rs]k_live_[0-9A-Za-z]{24}/ },
  { kind: 'an npm token', format: /\bnpm_[A-Za-z0-9]{36}\b/ },
  { kind: 'a PyPI token', format: /\bpypi-AgEIcHlwaS5vcmc[A-Za-z0-9_-]{50}/ },
  { kind: 'a SendGrid key', format: /\bSG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}/ },
  { kind: 'a Telegram bot token', format: /\b\d{8,10}:AA[A-Za-z0-9_-]{33}\b/ },
  { kind: 'a DigitalOcean token', format: /\bdo[opr]_v1_[a-f0-9]{64}/ },
];

/**
 * What looks like a secret in a line; null when nothing does. `own`: keys of this installation, which may have any
 * format.
 */
export function secretIn(line: string, own: readonly string[] = []): string | null {
  if (own.some((secret) => secret.length >= 8 && line.includes(secret))) return 'a key of this installation';
  return FORMATS.find(({ format }) => format.test(line))?.kind ?? null;
}

const EVERY = FORMATS.slice(1).map(({ format }) => new RegExp(format, `${format.flags}g`));

/** A text without what looks like a secret; `found` counts what was taken out. */
export function withoutSecrets(text: string, own: readonly string[] = []): { text: string; found: number } {
  let found = 0;
  const removed = () => {
    found += 1;
    return '[a key was here]';
  };
  const known = own.filter((secret) => secret.length >= 8);
  const plain = known.reduce((rest, secret) => rest.replaceAll(secret, removed), withoutPrivateKeys(text, removed));
  return { text: EVERY.reduce((rest, format) => rest.replace(format, removed), plain), found };
}

/** From the first line of a key to its last one, or to the end of the text. */
function withoutPrivateKeys(text: string, removed: () => string): string {
  const begin = FORMATS[0]!.format;
  let [left, rest] = ['', text];
  for (let key = begin.exec(rest); key; key = begin.exec(rest)) {
    left += rest.slice(0, key.index) + removed();
    const end = rest.indexOf(END_OF_KEY, key.index + key[0].length);
    const close = end < 0 ? -1 : rest.indexOf('-----', end + END_OF_KEY.length);
    rest = close < 0 ? '' : rest.slice(close + '-----'.length);
  }
  return left + rest;
}

const END_OF_KEY = '-----END';

interface Finding {
  kind: string;
  file: string;
  line: number;
  /** null: not committed yet */
  commit: string | null;
}

/** Put before the hash of each commit by the command that writes the differences. No line of a difference begins so. */
export const COMMIT_MARK = 'commit-of-scan ';
/** The findings that are told; more are counted as "and more". */
const MOST = 20;
/**
 * A longer line is looked at in parts, because it would have to be kept whole. The parts overlap by more than any
 * format needs.
 */
const LONGEST = 100_000;
const OVERLAP = 500;

/**
 * Reads the output of `git log -p` or `git diff` as it comes, and looks at the lines that are added. In the difference
 * of a merge only what the merge itself added counts.
 */
export class SecretScan {
  readonly findings: Finding[] = [];
  private readonly own: readonly string[];
  private rest = '';
  private commit: string | null = null;
  private file = '';
  private line = 0;
  /** how many signs stand before a line: one for each parent; 0: not among the lines of a file */
  private signs = 0;

  constructor(own: readonly string[]) {
    this.own = own;
  }

  push(text: string): void {
    const lines = (this.rest + text).split('\n');
    this.rest = lines.pop()!;
    for (const line of lines) this.read(line);
    while (this.rest.length > LONGEST) {
      // it goes on as the same line
      this.look(this.rest.slice(0, LONGEST));
      this.rest = this.rest.slice(0, this.signs || 1) + this.rest.slice(LONGEST - OVERLAP);
    }
  }

  end(): Finding[] {
    if (this.rest !== '') this.read(this.rest);
    this.rest = '';
    return this.findings;
  }

  get isFull(): boolean {
    return this.findings.length >= MOST;
  }

  private read(line: string): void {
    if (line.startsWith(COMMIT_MARK)) {
      this.commit = line.slice(COMMIT_MARK.length).trim();
      this.signs = 0;
    } else if (line.startsWith('diff --')) {
      this.signs = 0;
    } else if (line.startsWith('@@')) {
      const place = /^(@{2,30}) [^+]{1,300}\+(\d{1,9})/.exec(line);
      this.signs = place ? place[1]!.length - 1 : 0;
      this.line = place ? Number(place[2]) : 0;
    } else if (this.signs === 0) {
      if (line.startsWith('+++ ')) this.file = pathOf(line.slice(4));
    } else {
      this.look(line);
      if (!line.slice(0, this.signs).includes('-') && !line.startsWith('\\')) this.line += 1;
    }
  }

  /** Looks at a line of a file, or at a part of it. */
  private look(line: string): void {
    const { signs, file, commit } = this;
    if (signs === 0 || line.slice(0, signs) !== '+'.repeat(signs) || this.isFull) return;
    const kind = secretIn(line.slice(signs), this.own);
    const known = (each: Finding) => each.file === file && each.line === this.line && each.kind === kind;
    if (kind && !this.findings.some(known)) this.findings.push({ kind, file, line: this.line, commit });
  }
}

/** A path of a difference: `b/src/a.ts`, or in quotes with escapes. */
function pathOf(written: string): string {
  const plain = written.replace(/\t$/, '');
  const path = plain.startsWith('"') ? plain.slice(1, -1).replace(/\\(["\\])/g, '$1') : plain;
  return path.replace(/^b\//, '');
}

/** Why nothing is pushed. */
export function secretsSentence(findings: readonly Finding[], shown: (text: string) => string): string {
  const lines = findings
    .slice(0, MOST)
    .map(
      ({ kind, file, line, commit }) =>
        `- ${shown(file)}:${line}: ${kind}${commit ? ` (commit ${commit.slice(0, 7)})` : ''}`,
    );
  const more = findings.length >= MOST ? '\nThere may be more.' : '';
  const committed = findings.some(({ commit }) => commit !== null);
  return english(committed ? 'github.secretIn' : 'github.secret', { found: `${lines.join('\n')}${more}` });
}
