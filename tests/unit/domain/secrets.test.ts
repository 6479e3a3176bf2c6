import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { COMMIT_MARK, SecretScan, secretIn, secretsSentence } from '../../../src/domain/text/secrets.ts';
import { holds } from '../../support/property.ts';

/** Made of parts, so that nobody takes this file for a leak. */
const of = (length: number, alphabet = 'aB3dE6gH9jK2') =>
  alphabet.repeat(Math.ceil(length / alphabet.length)).slice(0, length);
const join = (...parts: string[]) => parts.join('');

describe('what looks like a secret', () => {
  it.each([
    ['a private key', join('-----BEGIN RSA PRIV', 'ATE KEY-----')],
    ['a private key', join('-----BEGIN PRIV', 'ATE KEY-----')],
    ['a private key', join('-----BEGIN OPENSSH PRIV', 'ATE KEY-----')],
    ['a private key', join('-----BEGIN PGP PRIV', 'ATE KEY BLOCK-----')],
    ['an age key', join('AGE-SECRET-', 'KEY-1', of(58, 'QPZRY9X8GF'))],
    ['a GitHub token', join('gh', 'p_', of(36))],
    ['a GitHub token', join('github', '_pat_', of(22), '_', of(59))],
    ['a GitLab token', join('gl', 'pat-', of(20))],
    ['an AWS access key', join('AK', 'IA', of(16, 'ABCDEF234567'))],
    ['an AWS secret key', join('aws_secret_access', '_key = ', of(40))],
    ['an AWS secret key', join('"AWS_SECRET', '_ACCESS_KEY": "', of(40), '"')],
    ['a Google API key', join('AI', 'za', of(35))],
    ['a Google client secret', join('GOC', 'SPX-', of(28))],
    ['an Anthropic key', join('sk-', 'ant-api03-', of(90))],
    ['an OpenAI key', join('sk-', 'proj-', of(60))],
    ['an OpenAI key', join('sk-', of(20), 'T3Blbk', 'FJ', of(20))],
    ['an OpenRouter key', join('sk-or', '-v1-', of(64, '0123456789abcdef'))],
    ['a Hugging Face token', join('h', 'f_', of(34, 'abcdefGHIJ'))],
    ['a Slack token', join('xo', 'xb-', of(12, '123456'), '-', of(24))],
    [
      'a Slack webhook',
      join('https://hooks.slack', '.com/services/T', of(9, 'ABC123'), '/B', of(9, 'ABC123'), '/', of(24)),
    ],
    ['a Stripe key', join('sk_', 'live_', of(24))],
    ['an npm token', join('np', 'm_', of(36))],
    ['a PyPI token', join('pypi-', 'AgEIcHlwaS5vcmc', of(60))],
    ['a SendGrid key', join('S', 'G.', of(22), '.', of(43))],
    ['a Telegram bot token', join('123456789', ':AA', of(33))],
    ['a DigitalOcean token', join('do', 'p_v1_', of(64, '0123456789abcdef'))],
  ])('%s is found, wherever it stands in a line', (kind, secret) => {
    for (const line of [secret, `key = "${secret}"`, `  - ${secret} # ours`]) expect(secretIn(line)).toBe(kind);
  });

  it.each([
    'AKIAIOSFODNN7EXAMPLE',
    'aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
    '-----BEGIN PUBLIC KEY-----',
    '-----BEGIN CERTIFICATE-----',
    'const token = process.env.GH_TOKEN',
    'ghp_short',
    'sk-learn is a package, sk-test too',
    'integrity: sha512-L7y8eYc+AwxGr2PWI4WFt1VG4TiJ66c26BD16mXpYIlXxG0SMigM1+m4aTSlYyBr5BlQsGAlz8uDCoZN4SEMcg==',
    '9c1b2a3d4e5f60718293a4b5c6d7e8f901234567',
    '3fa85f64-5717-4562-b3fc-2c963f66afa6',
    'password: change-me',
  ])('%s is none', (line) => expect(secretIn(line)).toBeNull());

  it('is also what this installation holds, whatever its format', () => {
    expect(secretIn('x hunter2hunter2 y', ['hunter2hunter2'])).toBe('a key of this installation');
    expect(secretIn('a b c', ['b'])).toBeNull();
  });
});

const KEY = join('gh', 'p_', of(36));
const scanned = (text: string, size = text.length) => {
  const scan = new SecretScan([]);
  for (let at = 0; at < text.length; at += size) scan.push(text.slice(at, at + size));
  return scan.end();
};

const LOG = [
  `${COMMIT_MARK}${'a'.repeat(40)}`,
  '',
  'diff --git a/src/a.ts b/src/a.ts',
  'index 1..2 100644',
  '--- a/src/a.ts',
  '+++ b/src/a.ts',
  '@@ -3 +3,2 @@ export',
  `-const old = '${KEY}';`,
  '+const a = 1;',
  `+const key = '${KEY}';`,
  '@@ -20,0 +22 @@',
  '+fine',
  'diff --git "a/with space\\"x.env" "b/with space\\"x.env"',
  '--- /dev/null',
  '+++ "b/with space\\"x.env"',
  '@@ -0,0 +1 @@',
  `+${KEY}`,
  '\\ No newline at end of file',
  `${COMMIT_MARK}${'b'.repeat(40)}`,
  '',
  'diff --cc merged.txt',
  '--- a/merged.txt',
  '+++ b/merged.txt',
  '@@@ -1,1 -1,1 +1,3 @@@',
  `+ ${KEY}`,
  '  both',
  `++${KEY}`,
  '',
].join('\n');

describe('a scan of differences', () => {
  const expected = [
    { kind: 'a GitHub token', file: 'src/a.ts', line: 4, commit: 'a'.repeat(40) },
    { kind: 'a GitHub token', file: 'with space"x.env', line: 1, commit: 'a'.repeat(40) },
    { kind: 'a GitHub token', file: 'merged.txt', line: 3, commit: 'b'.repeat(40) },
  ];

  it('names file, line and commit of what is added, and nothing of what is taken away or came with the other side of a merge', () => {
    expect(scanned(LOG)).toEqual(expected);
  });

  it('finds the same however the text comes in', async () => {
    await holds(
      fc.asyncProperty(fc.integer({ min: 1, max: LOG.length }), async (size) => {
        expect(scanned(LOG, size)).toEqual(expected);
      }),
    );
  });

  it('finds a secret anywhere in a line that is too long to keep', () => {
    const head = ['diff --git a/x.js b/x.js', '--- /dev/null', '+++ b/x.js', '@@ -0,0 +1 @@', '+'].join('\n');
    for (const before of [10, 99_980, 100_000, 250_001]) {
      const text = `${head}${';'.repeat(before)}${KEY};${';'.repeat(50_000)}\n`;
      expect(scanned(text, 8_192)).toEqual([{ kind: 'a GitHub token', file: 'x.js', line: 1, commit: null }]);
    }
  });

  it('takes no line of a file for one of its own', () => {
    const text = [
      'diff --git a/x b/x',
      '--- /dev/null',
      '+++ b/x',
      '@@ -0,0 +1,4 @@',
      '+diff --git a/y b/y',
      '++++ b/y',
      `+${COMMIT_MARK}x`,
      `+${KEY}`,
    ].join('\n');
    expect(scanned(text)).toEqual([{ kind: 'a GitHub token', file: 'x', line: 4, commit: null }]);
  });

  it('becomes a sentence that names the place and what to do, and never the secret', () => {
    const sentence = secretsSentence(scanned(LOG), (text) => text);
    expect(sentence).toMatch(
      /^This looks like a secret, so nothing was pushed:\n- src\/a\.ts:4: a GitHub token \(commit aaaaaaa\)\n/,
    );
    expect(sentence).toContain('Make the commits that have it again, without it');
    expect(sentence).not.toContain(KEY);
  });

  it('stops counting at twenty', () => {
    const text = [
      'diff --git a/x b/x',
      '+++ b/x',
      '@@ -0,0 +1,50 @@',
      ...Array.from({ length: 50 }, () => `+${KEY}`),
    ].join('\n');
    expect(scanned(text)).toHaveLength(20);
    expect(secretsSentence(scanned(text), (each) => each)).toContain('There may be more.');
  });
});
