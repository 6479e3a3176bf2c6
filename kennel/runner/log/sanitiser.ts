/** Makes an agent's text safe to store and show: no secrets, no terminal escapes, no control characters. */

const HIDDEN = '[hidden]';

/** Names of environment variables whose values count as secrets. */
const SECRET_NAME = /(^|_)(API)?(KEY|TOKEN|SECRET|PASS|PASSW(OR)?D|CREDENTIAL|AUTH)S?(_|$)/i;

/** Formats of keys of common services. */
const SHAPES: RegExp[] = [
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(-----END [A-Z ]*PRIVATE KEY-----|$)/g,
  /\bsk-[A-Za-z0-9_-]{16,}/g,
  /\b(ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9]{20,}/g,
  /\bgithub_pat_[A-Za-z0-9_]{20,}/g,
  /\bglpat-[A-Za-z0-9_-]{16,}/g,
  /\b(AKIA|ASIA)[A-Z0-9]{16}\b/g,
  /\bya29\.[A-Za-z0-9_-]{20,}/g,
  /\bAIza[A-Za-z0-9_-]{30,}/g,
  /\bxox[abeoprs]-[A-Za-z0-9-]{10,}/g,
  /\bnpm_[A-Za-z0-9]{30,}/g,
  /\bhf_[A-Za-z0-9]{30,}/g,
  /(?<![A-Za-z0-9_.-])eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}/g,
];

/** The password in a URL, and what follows "Bearer". */
const PARTS: Array<[RegExp, string]> = [
  [/(?<=:\/\/[^\s:/@]{1,100}:)[^\s@/]{1,200}(?=@)/g, HIDDEN],
  [/\b(Bearer\s+)[A-Za-z0-9._~+/=-]{16,}/gi, `$1${HIDDEN}`],
];

// CSI, OSC and other string sequences (with or without their end), two-character escapes; then C0 (except tab and
// newline), DEL, C1, and characters that turn the direction of text or are invisible
const ESCAPES =
  /\u001b\[[0-?]*[ -/]*[@-~]|\u009b[0-?]*[ -/]*[@-~]|\u001b[\]PX^_][^\u0007\u001b]*(\u0007|\u001b\\)?|\u001b[ -/]*[0-~]/g;
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b\u2028-\u202e\u2066-\u2069\ufeff]/g;

export class Sanitiser {
  private readonly secrets: string[];

  /** Hides `secrets` everywhere, and each value of `env` whose name looks like a secret's. */
  constructor(secrets: string[], env: Readonly<Record<string, string>> = {}) {
    const named = Object.entries(env)
      .filter(([name, value]) => SECRET_NAME.test(name) && value.length >= 8 && !value.startsWith('/'))
      .map(([, value]) => value);
    // the longest first, because one may be part of another
    this.secrets = [...new Set([...secrets, ...named])]
      .filter((secret) => secret.length >= 8)
      .sort((a, b) => b.length - a.length);
  }

  /** Text of several lines. */
  text(value: string): string {
    let text = value.replace(/\r\n?/g, '\n').replace(ESCAPES, '').replace(CONTROLS, '');
    for (const secret of this.secrets) text = text.replaceAll(secret, HIDDEN);
    for (const shape of SHAPES) text = text.replace(shape, HIDDEN);
    for (const [part, by] of PARTS) text = text.replace(part, by);
    return text.toWellFormed();
  }

  /** One line of at most `max` characters. */
  line(value: string, max: number): string {
    return cut(this.text(bounded(value)).replace(/\s+/g, ' ').trim(), max);
  }

  /**
   * At most `max` characters. When it is too long: the beginning, and more of the end, where a program says what went
   * wrong.
   */
  detail(value: string, max: number): string {
    const text = this.text(bounded(value)).trim();
    if (text.length <= max) return text;
    const head = Math.floor(max / 4);
    const gap = `\n… ${text.length - max} characters …\n`;
    return `${text.slice(0, head)}${gap}${text.slice(text.length - (max - head - gap.length))}`.toWellFormed();
  }

  /** True when the end of `text` may be the beginning of a known secret. */
  endsInSecret(text: string): boolean {
    return this.secrets.some((secret) => {
      for (let length = Math.min(secret.length - 1, text.length); length >= 4; length--)
        if (text.endsWith(secret.slice(0, length))) return true;
      return false;
    });
  }
}

export function cut(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max - 1)}…`.toWellFormed();
}

/** The patterns above read at most this much of a value, from both ends. */
function bounded(value: string): string {
  const most = 100_000;
  return value.length <= most ? value : value.slice(0, most / 2) + value.slice(-most / 2);
}
