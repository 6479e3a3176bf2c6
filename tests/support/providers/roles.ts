import type { Asked } from './asked.ts';

/**
 * What scripts ask for, and the tools of the five CLIs that do it. Arguments: `write` {path, text}, `shell` {command},
 * `ask` {question, options}, `echo` {text} of an MCP server, `plan` {plan},
 * `plan file` {text}. Paths are absolute, which every CLI takes.
 */
export type Role = 'write' | 'shell' | 'ask' | 'echo' | 'plan file' | 'plan';

const names: Record<Exclude<Role, 'plan file'>, readonly RegExp[]> = {
  write: [/^Write$/, /^write_file$/, /^create$/, /^write$/],
  shell: [/^Bash$/, /^run_shell_command$/, /^bash$/, /^exec_command$/],
  ask: [/ask_human$/],
  // Codex names the server apart from its tool
  echo: [/news\W*_*echo$/, /^echo$/],
  plan: [/^ExitPlanMode$/],
};

/** Names that the five use for the same argument. */
const synonyms: Record<string, readonly string[]> = {
  path: ['file_path', 'filePath', 'path'],
  text: ['content', 'file_text'],
  command: ['command', 'cmd'],
};

type Call = [name: string, args: Record<string, unknown>];

/** The call that fulfils a role with the offered tools; null when none can. */
export function toolFor(
  role: Role,
  args: Record<string, unknown>,
  { tools, system, turns }: Pick<Asked, 'tools' | 'system' | 'turns'>,
): Call | null {
  if (role === 'plan file') return planFile(args, { tools, turns });
  const rights = system.includes('escalated permissions') ? escalated : {};
  const tool = names[role]
    .map((pattern) => tools.find((one) => pattern.test(one.name)))
    .find((one) => one !== undefined);
  if (!tool && tools.some((one) => one.kind === 'custom' && one.name === 'exec'))
    return ['exec', { input: program(role, args, rights) }];
  // Codex without its patch tool writes files by its shell
  if (!tool && role === 'write')
    return toolFor(
      'shell',
      { command: `printf %s ${quoted(String(args.text))} > ${quoted(String(args.path))}` },
      { tools, system, turns },
    );
  if (!tool) return null;
  const filled: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(args))
    filled[(synonyms[name] ?? []).find((one) => one in tool.properties) ?? name] = value;
  if ('sandbox_permissions' in tool.properties) Object.assign(filled, rights);
  for (const name of tool.required)
    filled[name] ??=
      tool.properties[name] === 'boolean' ? false : tool.properties[name] === 'number' ? 60 : 'as scripted';
  return [tool.name, filled];
}

/** Claude Code has the model write a plan into a file that it names, and hand in that file. */
function planFile({ text }: Record<string, unknown>, { tools, turns }: Pick<Asked, 'tools' | 'turns'>): Call | null {
  const path = turns
    .map((turn) => /\S+\/\.claude\/plans\/[\w-]+\.md/.exec(turn.text)?.[0])
    .findLast((each) => each !== undefined);
  return path !== undefined && tools.some(({ name }) => name === 'ExitPlanMode')
    ? ['Write', { file_path: path, content: text }]
    : null;
}

/** What our profile tells a model to ask Codex for, where permissions are asked. */
const escalated = { sandbox_permissions: 'require_escalated', justification: 'as scripted' };

/** The "code mode" of Codex: one tool that runs JavaScript, from which the others are called. */
function program(role: Role, args: Record<string, unknown>, rights: object): string {
  if (role === 'write')
    return `text(await tools.apply_patch(${JSON.stringify(patch(String(args.path), String(args.text)))}));`;
  if (role === 'shell') return `text(await tools.exec_command(${JSON.stringify({ cmd: args.command, ...rights })}));`;
  const end = role === 'echo' ? 'echo' : 'ask_human';
  return `const found = ALL_TOOLS.find((tool) => tool.name.endsWith('${end}')).name; text(await tools[found](${JSON.stringify(args)}));`;
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

const patch = (path: string, text: string): string =>
  [
    '*** Begin Patch',
    `*** Add File: ${path}`,
    ...text
      .replace(/\n$/, '')
      .split('\n')
      .map((line) => `+${line}`),
    '*** End Patch',
    '',
  ].join('\n');
