import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import {
  type CustomTool,
  commandOf,
  customToolText,
  parseCustomTool,
} from '../../../src/domain/extensions/custom-tool.ts';
import { parseSkill, skillsPrompt, skillText } from '../../../src/domain/extensions/skill.ts';

const lint = {
  name: 'lint',
  description: 'Lints a folder.',
  command: 'npx eslint {{folder}} --max {{ most }}',
  danger: 'moderate',
  parameters: [
    { name: 'folder', type: 'string', description: 'Which one', required: true },
    { name: 'most', type: 'number', default: 3 },
  ],
};
const parse = (fields: object = {}) => parseCustomTool(JSON.stringify({ ...lint, ...fields }));

test('a custom tool of the original is read as it is', () => {
  expect(parse()).toMatchObject({
    kind: 'tool',
    name: 'lint',
    defaults: { most: '3' },
    tools: [
      {
        name: 'tool_lint',
        danger: 'MODERATE',
        effect: 'once',
        parameters: {
          type: 'object',
          properties: { folder: { type: 'string', description: 'Which one' }, most: { type: 'number' } },
          required: ['folder'],
          additionalProperties: false,
        },
      },
    ],
  });
  expect(parse({ danger: undefined })).toMatchObject({ tools: [{ danger: 'DANGEROUS' }] });
});

test.each([
  ['a name with other characters', { name: 'do it' }, /name/],
  ['no command', { command: '' }, /command/],
  ['a placeholder without a parameter', { command: 'echo {{nothing}}' }, /\{\{nothing\}\}/],
  ['a danger that nobody knows', { danger: 'none' }, /danger/],
  ['two parameters of one name', { parameters: [...lint.parameters, lint.parameters[0]] }, /one name/],
  ['a parameter with a name that a shell would read', { parameters: [{ name: 'a;b' }] }, /name/],
  ['a placeholder for another shell', { command: 'bash -c "echo {{folder}}"' }, /another shell/],
  ['a host with a path', { hosts: ['example.com/x'] }, /host/],
])('a custom tool with %s is refused, with the reason', (_, fields, why) => {
  expect(parse(fields)).toMatch(why);
});

test('text that is no JSON is refused, with the reason', () => {
  expect(parseCustomTool('{')).toMatch(/not valid JSON/);
});

test.each(['echo {{text}}', 'echo "{{text}}"', "echo '{{text}}'", 'echo `echo {{text}}`', 'cat <<END\n{{text}}\nEND'])(
  'no argument is run as a command by %s',
  (command) => {
    const tool = parse({ command, parameters: [{ name: 'text' }] }) as CustomTool;
    for (const text of [
      '$(echo RUN-$((1+1)))',
      '"; echo RUN-$((1+1)); "',
      "'; echo RUN-$((1+1)); '",
      '`echo RUN-$((1+1))`',
      '\n echo RUN-$((1+1))\n',
      'END\necho RUN-$((1+1))',
    ]) {
      const { line, env } = commandOf(tool, { text });
      const said = execFileSync('bash', ['-c', line], { env: { PATH: '/usr/bin:/bin', ...env }, encoding: 'utf8' });
      expect(said).not.toContain('RUN-2');
    }
  },
);

test('a person sees the command, the hosts and the danger of a custom tool', () => {
  expect(customToolText(parse({ hosts: ['registry.npmjs.org'] }) as CustomTool)).toBe(
    [
      'MODERATE: Lints a folder.',
      'It runs this in a container of the active workspace:',
      '  │ npx eslint {{folder}} --max {{ most }}',
      'It may reach registry.npmjs.org.',
      'It is stopped after 120 s.',
      'It gets folder.',
      'It gets most, or "3".',
    ].join('\n'),
  );
});

const SKILL =
  '---\nname: release\ndescription: >\n  How we make\n  a release\nlicense: MIT\n---\n\n# Release\n\nRead steps.md first.\n';

test('a skill that asks for what is not here says so when it is shown', () => {
  const asks = 'requirements:\n  platform: [darwin, win32]\n  binaries:\n    - git\n    - ffmpeg\n  envVars: [API_KEY]';
  const skill = parseSkill('x', `---\nname: x\ndescription: d\n${asks}\n---\nbody`, []);
  if (typeof skill === 'string') throw new Error(skill);
  expect(skillText(skill).split('\n').slice(1, 4)).toEqual([
    'Missing: It is for darwin, win32, and commands run on Linux here.',
    "Missing: It needs the programs ffmpeg, which commands have only if the project's environment has them.",
    'Missing: It needs the variables API_KEY, which no command gets.',
  ]);
  const met = parseSkill(
    'x',
    '---\nname: x\ndescription: d\nrequirements:\n  platform: linux\n  binaries: [jq]\n---\nbody',
    [],
  );
  expect(typeof met === 'string' ? met : skillText(met)).not.toContain('Missing');
  expect(parseSkill('x', '---\nname: x\ndescription: d\n---\nbody', [])).not.toHaveProperty('requirements');
});

test('a skill in the form of agentskills is read, with what it is for', () => {
  const skill = parseSkill('release', SKILL, [{ path: 'steps.md', text: '1. Test.' }]);
  expect(skill).toMatchObject({
    kind: 'skill',
    name: 'release',
    description: 'How we make a release',
    body: '# Release\n\nRead steps.md first.',
  });
  if (typeof skill === 'string') throw new Error(skill);
  expect(skillsPrompt([skill]).at(-1)).toBe('- release: How we make a release');
  expect(skillText(skill)).toContain('  │ Read steps.md first.');
  expect(skillText(skill)).toContain('- steps.md (8 characters)');
});

test('the block of a skill is YAML in which every value is a text', () => {
  const text =
    '---\nName: "release"\ndescription: |\n  Use it: always\n  # and again\nversion: 1.0\nenabled: true\nallowed-tools: [a, b]\n__proto__: x\n---\nbody';
  expect(parseSkill('x', text, [])).toMatchObject({ name: 'release', description: 'Use it: always # and again' });
  expect(parseSkill('x', '---\nname: !!js/function x\ndescription: 2026-01-01\n---\nbody', [])).toMatchObject({
    name: 'x',
    description: '2026-01-01',
  });
});

test.each([
  ['has no first block', '# Release', /begin with a block/],
  ['has no name', '---\ndescription: x\n---\nbody', /name/],
  ['has no description', '---\nname: x\n---\nbody', /description/],
  ['says nothing', '---\nname: x\ndescription: y\n---\n', /says nothing/],
  ['is switched off', '---\nname: x\ndescription: y\nenabled: false\n---\nbody', /switched off/],
  ['has no valid YAML', '---\nname: x\ndescription: When: always\n---\nbody', /not valid YAML.*needs quotes/s],
  ['says one thing twice', '---\nname: x\nname: y\ndescription: z\n---\nbody', /unique/],
  ['refers to itself', '---\nname: &a x\ndescription: *a\n---\nbody', /not valid YAML/],
  ['has a list in place of a block', '---\n- name\n---\nbody', /lines such as/],
  ['has a block of many pages', `---\nname: x\ndescription: ${'y'.repeat(8_000)}\n---\nbody`, /8000 is the most/],
  ['is too long', `---\nname: x\ndescription: y\n---\n${'b'.repeat(40_000)}`, /32000/],
])('a skill that %s is refused, with the reason', (_, text, why) => {
  expect(parseSkill('x', text, [])).toMatch(why);
});
