import { english, type Say } from '../texts/say.ts';

/**
 * Warnings about an address that may mislead the person who is asked about it. They are shown beside the address, in
 * sentences, and decide nothing.
 */

/** Names that others like to be taken for, with the domains that are theirs. */
const BRANDS: Record<string, readonly string[]> = {
  amazon: ['amazon.com', 'amazonaws.com'],
  anthropic: ['anthropic.com'],
  apple: ['apple.com'],
  atlassian: ['atlassian.com', 'atlassian.net'],
  azure: ['azure.com', 'azure.net', 'azureedge.net'],
  bitbucket: ['bitbucket.org'],
  cloudflare: ['cloudflare.com'],
  debian: ['debian.org'],
  deepseek: ['deepseek.com'],
  discord: ['discord.com', 'discordapp.com', 'discord.gg'],
  docker: ['docker.com', 'docker.io'],
  dropbox: ['dropbox.com', 'dropboxapi.com', 'dropboxusercontent.com'],
  facebook: ['facebook.com'],
  github: ['github.com', 'github.io', 'github.dev', 'githubusercontent.com', 'githubassets.com', 'githubcopilot.com'],
  gitlab: ['gitlab.com', 'gitlab.io'],
  golang: ['golang.org'],
  google: ['google.com', 'googleapis.com', 'googleusercontent.com', 'googlesource.com'],
  huggingface: ['huggingface.co'],
  instagram: ['instagram.com'],
  jsdelivr: ['jsdelivr.net', 'jsdelivr.com'],
  linkedin: ['linkedin.com'],
  microsoft: ['microsoft.com', 'microsoftonline.com'],
  nodejs: ['nodejs.org'],
  npmjs: ['npmjs.org', 'npmjs.com'],
  nvidia: ['nvidia.com'],
  openai: ['openai.com'],
  paypal: ['paypal.com'],
  pypi: ['pypi.org'],
  pythonhosted: ['pythonhosted.org'],
  rubygems: ['rubygems.org'],
  stripe: ['stripe.com', 'stripe.network'],
  telegram: ['telegram.org'],
  ubuntu: ['ubuntu.com'],
  whatsapp: ['whatsapp.com', 'whatsapp.net'],
};
/** Ends of names that mean something only at the end. */
const ENDS = new Set(['com', 'org', 'net', 'io', 'dev', 'ai', 'app', 'edu', 'gov']);
const USUAL_PORTS = new Set([22, 80, 443]);

/** The warnings about a host. `port`: null where it does not matter. */
export function hostWarnings({ host, port }: { host: string; port: number | null }, say: Say = english): string[] {
  const name = host
    .toLowerCase()
    .replace(/^\[|\]$/g, '')
    .replace(/(?<!\.)\.$/, '');
  const odd = port === null || USUAL_PORTS.has(port) ? [] : [say('address.port', { port })];
  // also 2130706433, 0x7f.1 and 017700000001, which programs read as addresses
  if (name.includes(':') || /^(?:0x[\da-f]*|\d+)(?:\.(?:0x[\da-f]*|\d+)){0,3}$/.test(name))
    return [say('address.number', { host: shown(name) }), ...odd];
  const labels = name.split('.');
  const other = labels.some((label) => label.startsWith('xn--')) || /[^\x20-\x7e]/.test(name);
  const foreign = other ? [say('address.letters', { host: shown(name) })] : [];
  return [...foreign, ...brandWarnings(name, labels, say), ...odd];
}

function brandWarnings(name: string, labels: readonly string[], say: Say): string[] {
  const last = labels.length - 1;
  const owner = labels.slice(-2).join('.');
  for (const [brand, own] of Object.entries(BRANDS)) {
    if (own.some((domain) => name === domain || name.endsWith(`.${domain}`))) return [];
    if (labels.some((label) => resembles(label, brand)))
      return [say('address.brand', { host: shown(name), known: own[0]!, owner: shown(owner) })];
  }
  // `com.au` is such an end as a whole
  const inside = labels.findIndex(
    (label, at) => ENDS.has(label) && at > 0 && at < last - (labels[last]!.length === 2 ? 1 : 0),
  );
  return inside < 0
    ? []
    : [
        say('address.looks', {
          host: shown(name),
          known: shown(labels.slice(0, inside + 1).join('.')),
          owner: shown(owner),
        }),
      ];
}

/** Whether a part of a name has a brand in it, as it is, with digits for letters, or with one letter changed. */
function resembles(label: string, brand: string): boolean {
  const read = label
    .replaceAll('rn', 'm')
    .replaceAll('vv', 'w')
    .replace(/[0135@]/g, (sign) => LETTERS[sign]!);
  const forms = [label, read, read.replaceAll('l', 'i')];
  return (
    forms.some((form) => form.includes(brand) || form.includes(brand.replaceAll('l', 'i'))) ||
    label.split(/[-_]/).some((part) => isOneLetterOff(part, brand))
  );
}
const LETTERS: Record<string, string> = { 0: 'o', 1: 'l', 3: 'e', 5: 's', '@': 'a' };

/** One letter more, one less, another one, or two that are swapped. */
function isOneLetterOff(part: string, brand: string): boolean {
  if (part === brand || Math.abs(part.length - brand.length) > 1 || brand.length < 5) return false;
  let begin = 0;
  while (begin < part.length && part[begin] === brand[begin]) begin += 1;
  const [a, b] = [part.slice(begin), brand.slice(begin)];
  const swapped = a.length > 1 && a[0] === b[1] && a[1] === b[0] && a.slice(2) === b.slice(2);
  return swapped || a.slice(1) === b.slice(1) || a.slice(1) === b || a === b.slice(1);
}

/** The warnings about a web address, as it is written. */
export function addressWarnings(address: string, say: Say = english): string[] {
  const [, userinfo, host = '', port] =
    /^[a-z][a-z0-9+.-]{0,20}:\/\/(?:([^/?#]*)@)?(\[[^\]/?#]*\]|[^:/?#@]*)(?::(\d{1,5}))?/i.exec(
      address.slice(0, 2000),
    ) ?? [];
  if (host === '') return [];
  const before = userinfo === undefined ? [] : [say('address.at', { host: shown(host) })];
  return [...before, ...hostWarnings({ host, port: port === undefined ? null : Number(port) }, say)];
}

const shown = (name: string): string => (name.length <= 70 ? name : `…${name.slice(-69)}`);
