/** Instructions that need nothing but the image before them. */
const PLAIN = new Set(['FROM', 'RUN', 'ENV', 'ARG', 'USER', 'WORKDIR', 'SHELL', 'LABEL', 'EXPOSE', 'CMD', 'ENTRYPOINT', 'STOPSIGNAL', 'MAINTAINER']);
const FILES = 'The build gets no file of the repository. Put what it installs into RUN, or into postCreateCommand.';

interface Refused {
  line: number;
  text: string;
  why: string;
}

interface Instruction {
  name: string;
  rest: string;
  line: number;
  text: string;
}

/** The lines of a Dockerfile that are not allowed. Nothing of it is run here. */
export function refusedIn(dockerfile: string): Refused[] {
  const found: Refused[] = [];
  const directive = /^#\s*(syntax|escape)\s*=/i.exec(dockerfile);
  if (directive) found.push({ line: 1, text: dockerfile.split('\n')[0]!, why: 'It would give the file to another program to read.' });
  const stages = new Set<string>();
  let froms = 0;
  for (const { name, rest, line, text } of instructions(dockerfile)) {
    const why = whyNot(name, rest, stages);
    if (why) found.push({ line, text, why });
    if (name !== 'FROM') continue;
    const stage = /\bAS\s+(\S+)\s*$/i.exec(rest)?.[1];
    if (stage) stages.add(stage.toLowerCase());
    stages.add(String(froms));
    froms += 1;
  }
  if (froms === 0) found.push({ line: 1, text: dockerfile.split('\n')[0]!, why: 'A Dockerfile begins with FROM.' });
  return found;
}

function whyNot(name: string, rest: string, stages: ReadonlySet<string>): string | null {
  if (name === 'COPY') {
    const from = /^(?:--\S+\s+)*?--from=(\S+)/.exec(rest)?.[1]?.toLowerCase();
    if (from === undefined) return FILES;
    return stages.has(from) ? null : 'It would take files of another image of this machine.';
  }
  if (name === 'ADD') return FILES;
  if (name === 'FROM' && /^--/.test(rest)) return 'Only images for this machine are used.';
  if (name === 'RUN' && /^--(mount|network|security)\b/.test(rest)) return 'It would reach beyond the build: secrets, caches or the network of this machine.';
  return PLAIN.has(name) ? null : `${name.slice(0, 20)} is not used here.`;
}

function* instructions(dockerfile: string): Generator<Instruction> {
  const lines = dockerfile.split('\n');
  for (let at = 0; at < lines.length; at += 1) {
    const text = lines[at]!;
    if (text.trim() === '' || text.trim().startsWith('#')) continue;
    const first = at;
    let whole = text;
    // comments and empty lines between continued lines are left out by the engine as well
    while (/\\\s*$/.test(whole) && at + 1 < lines.length) {
      at += 1;
      const next = lines[at]!;
      if (next.trim() !== '' && !next.trim().startsWith('#')) whole = `${whole.replace(/\\\s*$/, ' ')}${next}`;
      else if (next.trim() === '') continue;
    }
    const [, name = '', rest = ''] = /^\s*(\S+)\s*([\s\S]*)$/.exec(whole) ?? [];
    yield { name: name.toUpperCase(), rest: rest.trim(), line: first + 1, text: text.trim() };
  }
}
