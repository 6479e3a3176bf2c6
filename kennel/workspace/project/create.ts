import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Author, TEMPLATES, type Template, type WorkspaceAnswer } from '../../../src/contracts/workspace-ops.ts';
import { isPlainName } from '../files/names.ts';
import { git, makeScratch, type Repository } from '../git/git.ts';
import { headOf, type Place } from '../git/repository.ts';
import { Refusal } from '../refusal.ts';

const FOLDER = fileURLToPath(new URL('../../templates/', import.meta.url));

export interface Creating {
  template: Template;
  name: string;
  description: string;
  git: boolean;
  author: Author;
}

/**
 * Fills an empty folder from `kennel/templates`. Replaces `{{name}}` (as given), `{{package}}` (lower case, begins with
 * a letter) and `{{description}}`, escaped for the type of file. `_gitignore` becomes `.gitignore`.
 */
export function create(place: Place, op: Creating): WorkspaceAnswer {
  if (!TEMPLATES.includes(op.template))
    throw new Refusal(`There is no template ${op.template}; there are ${TEMPLATES.join(', ')}.`);
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(op.name))
    throw new Refusal('The name may have 1 to 64 letters, digits, "-" and "_".');
  const description = op.description.replace(/\s+/g, ' ').trim();
  if (description.length > 256) throw new Refusal('The description is longer than 256 characters.');
  if (!isPlainName(description)) throw new Refusal('The description contains control or invisible characters.');
  if (readdirSync(place.root).length > 0) throw new Refusal('The folder is not empty.');
  const values: Record<string, string> = {
    name: op.name,
    package: packageName(op.name),
    description: description || op.name,
  };
  const files = filesOf(join(FOLDER, op.template));
  for (const file of files) {
    const target = join(place.root, file.replace(/(^|\/)_gitignore$/, '$1.gitignore'));
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, filled(readFileSync(join(FOLDER, op.template, file), 'utf8'), file, values), { flag: 'wx' });
  }
  const commit = op.git ? firstCommit(place, op.author) : null;
  const output = `Created ${op.name} from template ${op.template} (${files.length} files)${commit ? `, first commit ${commit.slice(0, 10)} on main` : ''}.`;
  return {
    ok: true,
    output,
    data: { files: files.map((file) => file.replace(/(^|\/)_gitignore$/, '$1.gitignore')), commit },
  };
}

/** A name that npm, cargo, go and Python accept. */
export function packageName(name: string): string {
  const plain = name.toLowerCase().replace(/^[^a-z]+/, '');
  return plain === '' ? `app-${name.toLowerCase().replace(/^[-_]+/, '')}`.replace(/-$/, '') : plain;
}

function filesOf(folder: string, prefix = ''): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) =>
      entry.isDirectory() ? filesOf(join(folder, entry.name), `${prefix}${entry.name}/`) : [`${prefix}${entry.name}`],
    );
}

/** Plain characters in JSON quotes are also valid in TOML, JavaScript, Go, Rust and Python. */
function filled(text: string, file: string, values: Record<string, string>): string {
  const html = (value: string) => value.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
  const markdown = (value: string) => value.replace(/[\\`*_{}[\]<>#|~]/g, '\\$&');
  const quoted = (value: string) => JSON.stringify(value).slice(1, -1);
  const escaped = { '.md': markdown, '.html': html }[extname(file)] ?? quoted;
  return text.replace(/\{\{(name|package|description)\}\}/g, (_, key: string) => escaped(values[key]!));
}

function firstCommit(place: Place, author: Author): string {
  const gitDir = join(place.root, '.git');
  const repository: Repository = {
    root: place.root,
    gitDir,
    commonDir: gitDir,
    kept: 'workspace',
    store: null,
    worktree: null,
    scratch: makeScratch(gitDir),
    overrides: {},
  };
  const by = {
    name: author.name.replace(/[<>\r\n\0]/g, '').trim() || 'Fetch',
    email: author.email.replace(/[<>\s\0]/g, '') || 'fetch@localhost',
  };
  const env = {
    GIT_AUTHOR_NAME: by.name,
    GIT_AUTHOR_EMAIL: by.email,
    GIT_COMMITTER_NAME: by.name,
    GIT_COMMITTER_EMAIL: by.email,
  };
  git(repository, ['init', '-q', '--template=', '-b', 'main'], { env });
  git(repository, ['add', '-A'], { env });
  git(repository, ['commit', '-q', '--no-gpg-sign', '--allow-empty', '-m', 'First commit'], { env });
  return headOf(repository).commit!;
}
