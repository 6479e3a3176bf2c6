/**
 * The offered tool that a name means. Models and servers put namespaces before it, numbers, brackets or their own tokens
 * behind it, quotes around it, and write it in the style of another language.
 */
export function offeredName(name: string, offered: ReadonlySet<string>): string {
  const plain = name.trim();
  if (offered.has(plain)) return plain;
  const bare = withoutQuotes(plain.replace(/<[|｜][\s\S]*$/, '').replace(/:\d+$/, ''));
  const short = bare.slice(Math.max(...['.', ':', '/'].map((mark) => bare.lastIndexOf(mark))) + 1);
  const known = [bare, short, bare.slice(bare.lastIndexOf('__') + 1).replace(/^_/, '')].find((each) =>
    offered.has(each),
  );
  if (known !== undefined) return known;
  const alike = [...offered].filter((each) => lettersOf(each) === lettersOf(short));
  return alike.length === 1 ? alike[0]! : plain;
}

function withoutQuotes(text: string): string {
  const called = text.replace(/\(\s*\)$/, '');
  let end = called.length;
  while (end > 0 && /[\s"'`>*]/.test(called[end - 1]!)) end -= 1;
  return called.slice(0, end).replace(/^[\s"'`$@#*]+/, '');
}

/** file-read, File_Read and fileRead are one name. */
const lettersOf = (name: string): string => name.replace(/[^\p{L}\d]/gu, '').toLowerCase();
