import { command } from './program.ts';

export function addHandOverCommands(): void {
  command(
    'hand-over',
    'Make a file of a session of Claude Code or Codex on this machine, for the word take in the chat; --apply goes on with one that give has sent',
    'fetch hand-over ~/shop',
    (self, [folder = '.']) =>
      async () => {
        const { apply, ...options } = self.opts<{ apply?: string; session?: string; out?: string }>();
        if (apply === undefined)
          process.stderr.write(await (await import('../home/hand-over/hand-over.ts')).handOver(folder, options));
        else process.stdout.write(await (await import('../home/hand-over/apply.ts')).apply(apply, folder));
      },
  )
    .argument('[folder]', 'of the project; where you are when left out')
    .option('--session <id>', 'the session; the newest one of the project when left out')
    .option('--out <file>', 'where to write it; beside the folder when left out')
    .option('--apply <file>', 'go on here with the session in this file');
  command(
    'take',
    'Go on here with the session in a file of hand-over, in the chat of this terminal',
    'fetch take shop.session.gz and now the tests',
    (_, [file, ...words]) =>
      async (config) => {
        const { take } = await import('../home/hand-over/with-instance.ts');
        process.stdout.write(await take(config, file!, words.join(' ')));
      },
  )
    .argument('<file>', 'that fetch hand-over has made')
    .argument('[words...]', 'what its agent is told first');
  command(
    'give',
    'Go on with the session of a coding task in a folder of yours; it prints the command',
    'fetch give 2 ~/shop',
    (self, [task, folder = '.']) =>
      async (config) => {
        const { give } = await import('../home/hand-over/with-instance.ts');
        process.stdout.write(await give(config, { ...self.opts<{ out?: string }>(), task, folder }));
      },
  )
    .argument('[task]', 'its number or id; the latest one of the chat of this terminal when left out')
    .argument('[folder]', 'of the project; where you are when left out')
    .option('--out <file>', 'write the file for another machine, and change nothing here');
}
