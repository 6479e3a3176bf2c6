/**
 * An agent speaks of its container as it sees it: addresses of the gate, its home, the mount of the workspace. Nobody
 * outside can open them. They are replaced by words that mean something outside (`INSIDE` in `src/contracts/kennel.ts`
 * has the real ones).
 */
const INSIDE_WORDS: ReadonlyArray<readonly [RegExp, string]> = [
  // Codex appends the address of the call
  [/,? ?\(?\burl: https?:\/\/(?:127\.0\.0\.1|localhost|\[::1\])[^\s,)]*\)?/gi, ''],
  // advice about settings that only the inside has: Copilot CLI, Claude Code
  [/\bCheck your COPILOT_PROVIDER_[A-Z_]{1,40}(?:,? (?:or )?COPILOT_PROVIDER_[A-Z_]{1,40}){0,4}\./g, ''],
  [/\bIf it persists, check your inference gateway \([^)\s]{0,100}\)\./g, ''],
  [/\b(?:https?:\/\/)?(?:127\.0\.0\.1|localhost|\[::1\]):4010\b[^\s,)"'`]*/gi, 'its model endpoint'],
  [/\b(?:https?:\/\/)?(?:127\.0\.0\.1|localhost|\[::1\]):4011\b[^\s,)"'`]*/gi, 'its way to the network'],
  [/\b(?:https?:\/\/)?127\.0\.0\.1(?::\d{1,5})?[^\s,)"'`]*/gi, 'an address inside its container'],
  [/\/run\/fetch-login\b[^\s,:;)"'`]*/g, 'its log-in file'],
  [/\/run\/fetch(?:-side)?\b[^\s,:;)"'`]*/g, 'its own folder'],
  [/\/opt\/agent\b[^\s,:;)"'`]*/g, 'its program'],
  [/\/workspace\/(?=[^\s/])/g, ''],
  [/\/workspace\b\/?/g, 'the workspace'],
  [/\bsk-fetch-[0-9a-f*.]+/gi, '[hidden]'],
];

export function withoutInside(text: string): string {
  const replaced = INSIDE_WORDS.reduce((sentence, [inside, words]) => sentence.replace(inside, words), text);
  return replaced.replace(/ {2,}/g, ' ').trim();
}
