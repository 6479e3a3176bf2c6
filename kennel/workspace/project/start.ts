/** How a project is started, by its files. The first that fits is taken; it runs nothing of the workspace. */

export interface ProjectFiles {
  has(name: string): boolean;
  /** empty when it is missing or no text */
  text(name: string): string;
  /** names at the root */
  names: readonly string[];
}

/** Scripts and targets that start a project, the most usual first. */
const STARTS = ['start', 'dev', 'serve', 'run'];

export function startCommand(files: ProjectFiles, packageManager: string | null): string[] | null {
  const { has, text } = files;
  if (has('package.json'))
    return ofNode(text('package.json'), packageManager ?? 'npm') ?? ofDeno(files) ?? ofMake(files);
  if (has('Cargo.toml')) return has('src/main.rs') ? ['cargo', 'run'] : ofMake(files);
  if (has('go.mod')) return has('main.go') ? ['go', 'run', '.'] : ofMake(files);
  const python = ofPython(files, packageManager);
  if (python) return python;
  if (has('pom.xml'))
    return text('pom.xml').includes('spring-boot')
      ? [has('mvnw') ? './mvnw' : 'mvn', '-q', 'spring-boot:run']
      : ofMake(files);
  if (has('build.gradle') || has('build.gradle.kts')) return ofGradle(files);
  if (has('artisan')) return ['php', 'artisan', 'serve'];
  if (has('bin/rails')) return ['bin/rails', 'server'];
  if (has('mix.exs') && text('mix.exs').includes('phoenix')) return ['mix', 'phx.server'];
  if (isDotnet(files.names)) return ['dotnet', 'run'];
  return ofDeno(files) ?? ofMake(files);
}

export const isDotnet = (names: readonly string[]): boolean =>
  names.some((name) => /\.(sln|slnx|csproj|fsproj|vbproj)$/i.test(name));

/** `make NAME`, if the Makefile has this target. */
export function makeTarget(makefile: string, name: string): string[] | null {
  return makefile.split('\n').some((line) => line.startsWith(`${name}:`) && !line.startsWith(`${name}:=`))
    ? ['make', name]
    : null;
}

const ofMake = ({ text }: ProjectFiles): string[] | null => {
  const makefile = text('Makefile');
  return STARTS.map((name) => makeTarget(makefile, name)).find((found) => found !== null) ?? null;
};

function ofNode(manifest: string, packageManager: string): string[] | null {
  const scripts = objectIn(manifest, 'scripts');
  const name = STARTS.find((each) => typeof scripts[each] === 'string' && scripts[each] !== '');
  if (!name) return null;
  return name === 'start' && packageManager !== 'bun' ? [packageManager, 'start'] : [packageManager, 'run', name];
}

function ofDeno({ text }: ProjectFiles): string[] | null {
  const tasks = objectIn(text('deno.json') || text('deno.jsonc'), 'tasks');
  const name = STARTS.find((each) => tasks[each] !== undefined);
  return name ? ['deno', 'task', name] : null;
}

function ofPython({ has }: ProjectFiles, packageManager: string | null): string[] | null {
  const manages = ['uv', 'poetry', 'pipenv', 'pdm'].includes(packageManager ?? '');
  const python = manages ? [packageManager!, 'run', 'python'] : ['python3'];
  if (has('manage.py')) return [...python, 'manage.py', 'runserver'];
  const main = ['app.py', 'main.py', 'server.py'].find(has);
  return main ? [...python, main] : null;
}

function ofGradle({ has, text }: ProjectFiles): string[] | null {
  const build = text('build.gradle') + text('build.gradle.kts');
  const gradle = has('gradlew') ? './gradlew' : 'gradle';
  if (build.includes('spring-boot') || build.includes('springframework.boot')) return [gradle, 'bootRun'];
  return /\bapplication\b/.test(build) ? [gradle, 'run'] : null;
}

/** An object in a JSON file. Comments of `deno.jsonc` make it unreadable here, and then it counts as empty. */
function objectIn(json: string, key: string): Record<string, unknown> {
  try {
    const found: unknown = JSON.parse(json.replace(/^\ufeff/, ''))?.[key];
    return found && typeof found === 'object' ? (found as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
