import { describe, expect, it } from 'vitest';
import { startCommand } from '../../../kennel/workspace/project/start.ts';

const files = (all: Record<string, string>) => ({
  has: (name: string) => name in all,
  text: (name: string) => all[name] ?? '',
  names: Object.keys(all),
});
const node = (scripts: object) => ({ 'package.json': JSON.stringify({ scripts }) });

describe('the command that starts a project', () => {
  it.each<[Record<string, string>, string | null, string | null]>([
    [node({ start: 'node .' }), 'npm', 'npm start'],
    [node({ dev: 'vite', build: 'x' }), 'pnpm', 'pnpm run dev'],
    [node({ start: 'x', dev: 'y' }), 'yarn', 'yarn start'],
    [node({ start: 'x' }), 'bun', 'bun run start'],
    [node({ test: 'x' }), 'npm', null],
    [{ 'package.json': 'not json' }, 'npm', null],
    [{ 'package.json': '{"scripts":[]}', Makefile: 'build:\n\tx\nrun: build\n\t./x\n' }, 'npm', 'make run'],
    [{ 'Cargo.toml': '', 'src/main.rs': '' }, 'cargo', 'cargo run'],
    [{ 'Cargo.toml': '', 'src/lib.rs': '' }, 'cargo', null],
    [{ 'go.mod': '', 'main.go': '' }, 'go', 'go run .'],
    [{ 'manage.py': '', 'requirements.txt': '' }, 'pip', 'python3 manage.py runserver'],
    [{ 'app.py': '', 'uv.lock': '' }, 'uv', 'uv run python app.py'],
    [{ 'pom.xml': '<artifactId>spring-boot-starter</artifactId>', mvnw: '' }, 'maven', './mvnw -q spring-boot:run'],
    [{ 'build.gradle': "plugins { id 'application' }" }, 'gradle', 'gradle run'],
    [{ 'build.gradle.kts': 'id("org.springframework.boot")', gradlew: '' }, 'gradle', './gradlew bootRun'],
    [{ 'Web.csproj': '<Project/>' }, 'dotnet', 'dotnet run'],
    [{ 'deno.json': '{"tasks":{"dev":"deno run main.ts"}}' }, 'deno', 'deno task dev'],
    [{ Makefile: 'serve:\n\tx\nstart := 1\n' }, 'make', 'make serve'],
    [{ Makefile: 'start:=1\n' }, 'make', null],
    [{}, null, null],
  ])('of %j with %s is %s', (all, manager, expected) =>
    expect(startCommand(files(all), manager)?.join(' ') ?? null).toBe(expected),
  );
});
