import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { ownAddress } from './npm-registry.ts';

/** Registries of other languages as folders are served: paths and what they hold. */
export interface FolderRegistry {
  /** `host:port` */
  at: string;
  url: string;
  requests: string[];
  close(): Promise<void>;
}

/** A host that a registry may keep its files at. */
export interface FileHost extends FolderRegistry {
  files: Map<string, Buffer | string>;
}

export async function startFileHost(): Promise<FileHost> {
  const files = new Map<string, Buffer | string>();
  return { ...(await serve(files, '/')), files };
}

type Files = Pick<Map<string, Buffer | string>, 'get'>;

async function serve(files: Files, base: string): Promise<FolderRegistry> {
  const requests: string[] = [];
  const server: Server = createServer((request, response) => {
    const path = request.url ?? '';
    requests.push(path);
    const file = files.get(path);
    if (file === undefined) response.writeHead(404).end();
    else response.writeHead(200, path.endsWith('/') ? { 'content-type': 'text/html' } : {}).end(file);
  });
  const host = ownAddress();
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const at = `${host}:${(server.address() as AddressInfo).port}`;
  return {
    at,
    url: `http://${at}${base}`,
    requests,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

const WHEEL = '/files/left-1.0.0-py3-none-any.whl';

/**
 * A simple index with the package `left` 1.0.0, whose module has the text "left". `elsewhere`: where its file is, when
 * not here.
 */
export const startPythonIndex = (elsewhere?: FileHost): Promise<FolderRegistry> => {
  const wheel = zipped({
    'left.py': 'TEXT = "left"\n',
    'left-1.0.0.dist-info/METADATA': 'Metadata-Version: 2.1\nName: left\nVersion: 1.0.0\n',
    'left-1.0.0.dist-info/WHEEL': 'Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
    'left-1.0.0.dist-info/RECORD':
      'left.py,,\nleft-1.0.0.dist-info/METADATA,,\nleft-1.0.0.dist-info/WHEEL,,\nleft-1.0.0.dist-info/RECORD,,\n',
  });
  const files = new Map<string, Buffer | string>([
    [
      '/simple/left/',
      `<!DOCTYPE html><html><body><a href="${elsewhere ? `http://${elsewhere.at}` : ''}${WHEEL}">left-1.0.0-py3-none-any.whl</a></body></html>`,
    ],
  ]);
  (elsewhere?.files ?? files).set(WHEEL, wheel);
  return serve(files, '/simple');
};

/** A module proxy with `example.com/left` v1.0.0, whose `Text` is "left". */
export const startGoProxy = (): Promise<FolderRegistry> => {
  const module = 'module example.com/left\n\ngo 1.20\n';
  const zip = zipped({
    'example.com/left@v1.0.0/go.mod': module,
    'example.com/left@v1.0.0/left.go': 'package left\n\nconst Text = "left"\n',
  });
  const at = '/example.com/left/@v';
  const files = new Map<string, Buffer | string>([
    [`${at}/list`, 'v1.0.0\n'],
    [`${at}/v1.0.0.info`, '{"Version":"v1.0.0","Time":"2026-01-01T00:00:00Z"}'],
    [`${at}/v1.0.0.mod`, module],
    [`${at}/v1.0.0.zip`, zip],
  ]);
  return serve(files, '');
};

/**
 * A sparse index with the crate `left` 1.0.0, whose constant `TEXT` is "left". `elsewhere`: where its file is, when not
 * here.
 */
export async function startCargoIndex(elsewhere?: FileHost): Promise<FolderRegistry> {
  const files = new Map<string, Buffer | string>();
  const registry = await serve(files, '/index/');
  const crate = packed('left-1.0.0', {
    'Cargo.toml': '[package]\nname = "left"\nversion = "1.0.0"\nedition = "2021"\n',
    'src/lib.rs': 'pub const TEXT: &str = "left";\n',
  });
  const cksum = createHash('sha256').update(crate).digest('hex');
  files.set(
    '/index/config.json',
    JSON.stringify({ dl: `http://${(elsewhere ?? registry).at}/crates/{crate}-{version}.crate` }),
  );
  files.set(
    '/index/le/ft/left',
    `${JSON.stringify({ name: 'left', vers: '1.0.0', deps: [], cksum, features: {}, yanked: false })}\n`,
  );
  (elsewhere?.files ?? files).set('/crates/left-1.0.0.crate', crate);
  return registry;
}

/**
 * What Debian has of Maven's plugins for a package with tests, as a Maven repository. Docker builds the image that it
 * is taken from.
 */
export async function startMavenFolder(): Promise<FolderRegistry> {
  const image = execFileSync('docker', ['build', '--quiet', '--network', 'host', '-'], {
    input: MAVEN_IMAGE,
    encoding: 'utf8',
    stdio: 'pipe',
  }).trim();
  const folder = mkdtempSync(join(tmpdir(), 'fetch-maven-'));
  const tar = execFileSync(
    'docker',
    ['run', '--rm', image, 'tar', '-chf', '-', '--ignore-failed-read', '-C', '/usr/share/maven-repo', '.'],
    {
      maxBuffer: 512 * 1024 * 1024,
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  );
  execFileSync('tar', ['-xf', '-', '-C', folder], { input: tar });
  const registry = await serve({ get: (path) => fileIn(folder, path) }, '/');
  return {
    ...registry,
    close: async () => {
      rmSync(folder, { recursive: true, force: true });
      await registry.close();
    },
  };
}

const MAVEN_IMAGE = `FROM node:24-bookworm-slim
RUN mkdir -p /usr/share/man/man1 && apt-get update -qq && apt-get install -y -qq --no-install-recommends junit4 libmaven-compiler-plugin-java \\
  libmaven-jar-plugin-java libmaven-resources-plugin-java libsurefire-java maven >/dev/null
`;

/** A project of Maven with a test, whose plugins and packages are in that folder. */
export const mavenProject: Readonly<Record<string, string>> = {
  'pom.xml': `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>demo</groupId><artifactId>demo</artifactId><version>1.0.0</version>
  <properties><maven.compiler.release>17</maven.compiler.release><project.build.sourceEncoding>UTF-8</project.build.sourceEncoding></properties>
  <dependencies><dependency><groupId>junit</groupId><artifactId>junit</artifactId><version>4.13.2</version><scope>test</scope></dependency></dependencies>
  <build><plugins>
    <plugin><artifactId>maven-resources-plugin</artifactId><version>3.3.0</version></plugin>
    <plugin><artifactId>maven-compiler-plugin</artifactId><version>3.10.1</version></plugin>
    <plugin><artifactId>maven-surefire-plugin</artifactId><version>2.22.3</version></plugin>
    <plugin><artifactId>maven-jar-plugin</artifactId><version>3.3.0</version></plugin>
  </plugins></build>
</project>
`,
  'src/main/java/Sums.java': 'public class Sums {\n  static int add(int a, int b) {\n    return a + b;\n  }\n}\n',
  'src/test/java/SumsTest.java':
    'import static org.junit.Assert.assertEquals;\nimport org.junit.Test;\n\npublic class SumsTest {\n  @Test\n  public void adds() {\n    assertEquals(3, Sums.add(1, 2));\n  }\n}\n',
};

function fileIn(folder: string, path: string): Buffer | undefined {
  const file = join(folder, path);
  return statSync(file, { throwIfNoEntry: false })?.isFile() ? readFileSync(file) : undefined;
}

/** A compressed archive of a folder. */
function packed(name: string, files: Record<string, string>): Buffer {
  const place = mkdtempSync(join(tmpdir(), 'fetch-crate-'));
  try {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(place, name, path)), { recursive: true });
      writeFileSync(join(place, name, path), text);
    }
    return execFileSync('tar', ['-czf', '-', '-C', place, name]);
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

const ZIP = `
import io, json, sys, zipfile
out = io.BytesIO()
with zipfile.ZipFile(out, "w") as z:
    for name, text in json.load(sys.stdin).items():
        z.writestr(name, text)
sys.stdout.buffer.write(out.getvalue())
`;

const zipped = (files: Record<string, string>): Buffer =>
  execFileSync('python3', ['-c', ZIP], { input: JSON.stringify(files) });
