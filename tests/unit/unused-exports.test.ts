import { globSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseSync } from 'rolldown/utils';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const files = globSync('{src,tests,scripts,kennel,bin,temporal}/**/*.{ts,tsx,js}', {
  cwd: root,
  exclude: ['**/node_modules/**', 'kennel/templates/**'],
});

/** Exports whose reader is not an import, by file: the names, and who reads them. */
const READ_BY_NAME: Record<string, { names: readonly string[]; reader: string }> = {
  'src/workflows/shared/failure-converter.ts': {
    names: ['failureConverter'],
    reader: 'Temporal, which loads the file by its path',
  },
};

interface Node {
  type: string;
  // biome-ignore lint/suspicious/noExplicitAny: the shape depends on the type of the node
  [key: string]: any;
}

const isNode = (value: unknown): value is Node => typeof (value as Node | null)?.type === 'string';

/** All nodes of a tree, each with the three nodes around it, the nearest first. */
function nodes(node: Node, around: readonly Node[] = [], found: { node: Node; around: readonly Node[] }[] = []) {
  found.push({ node, around });
  const aroundInner = [node, ...around.slice(0, 2)];
  for (const value of Object.values(node)) {
    for (const inner of Array.isArray(value) ? value : [value]) if (isNode(inner)) nodes(inner, aroundInner, found);
  }
  return found;
}

const nameOf = (node: Node): string => node.name ?? node.value;

/** The names that a pattern such as `{ a, b: c }` takes from its object; null: perhaps all of them. */
function takenBy(pattern: Node | undefined): string[] | null {
  if (pattern?.type !== 'ObjectPattern') return null;
  const known = pattern.properties.every((property: Node) => property.type === 'Property' && !property.computed);
  return known ? pattern.properties.map((property: Node) => nameOf(property.key)) : null;
}

/** The names that an expression takes from its module, by what stands around it; null: perhaps all of them. */
function takenFromModule(node: Node, [parent, grandparent]: readonly Node[]): string[] | null {
  if (parent?.type === 'MemberExpression' && parent.object === node && !parent.computed) {
    if (parent.property.name !== 'then') return [nameOf(parent.property)];
    const [callback] = grandparent?.type === 'CallExpression' ? grandparent.arguments : [];
    const [parameter] = callback?.params ?? [];
    if (parameter?.type !== 'Identifier') return takenBy(parameter);
    return takenFromVariable(callback.body, parameter.name);
  }
  if (parent?.type === 'VariableDeclarator') return takenBy(parent.id);
  if (parent?.type === 'TSQualifiedName' && parent.left === node) return [nameOf(parent.right)];
  return null;
}

/** The names that the uses of a variable take, which holds a module; null: perhaps all of them. */
function takenFromVariable(tree: Node, variable: string): string[] | null {
  const uses = nodes(tree).filter(({ node, around: [parent] }) => {
    if (node.type !== 'Identifier' || node.name !== variable || parent?.type.startsWith('Import')) return false;
    return !(parent?.type === 'MemberExpression' && parent.property === node && !parent.computed);
  });
  const taken = uses.map(({ node, around }) => takenFromModule(node, around));
  return taken.includes(null) ? null : taken.flatMap((names) => names!);
}

/** What a file imports: the path as written, and the names; null: perhaps all of them. */
function importsOf(tree: Node): { path: string; names: string[] | null }[] {
  return nodes(tree).flatMap(({ node, around: [parent, ...further] }) => {
    if (node.type === 'ImportDeclaration') {
      return node.specifiers.map((specifier: Node) => {
        if (specifier.type === 'ImportNamespaceSpecifier')
          return { path: node.source.value, names: takenFromVariable(tree, specifier.local.name) };
        return {
          path: node.source.value,
          names: [specifier.type === 'ImportDefaultSpecifier' ? 'default' : nameOf(specifier.imported)],
        };
      });
    }
    if (node.type === 'ExportAllDeclaration') return [{ path: node.source.value, names: null }];
    if (node.type === 'ExportNamedDeclaration' && node.source)
      return [{ path: node.source.value, names: node.specifiers.map((each: Node) => nameOf(each.local)) }];
    if (node.type === 'ImportExpression' && node.source.type === 'Literal') {
      const names =
        parent?.type === 'AwaitExpression'
          ? takenFromModule(parent, further)
          : takenFromModule(node, [parent!, ...further]);
      return [{ path: node.source.value, names }];
    }
    if (node.type === 'TSImportType') {
      const first = node.qualifier?.type === 'TSQualifiedName' ? node.qualifier.left : node.qualifier;
      return [{ path: node.source.value, names: first ? [nameOf(first)] : null }];
    }
    return [];
  });
}

/** The names that a file exports. */
function exportsOf(tree: Node): string[] {
  return tree.body.flatMap((node: Node) => {
    if (node.type === 'ExportDefaultDeclaration') return ['default'];
    if (node.type !== 'ExportNamedDeclaration') return [];
    if (!node.declaration) return node.specifiers.map((specifier: Node) => nameOf(specifier.exported));
    if (node.declaration.type !== 'VariableDeclaration') return [nameOf(node.declaration.id)];
    return node.declaration.declarations.flatMap(({ id }: Node) =>
      id.type === 'ObjectPattern' ? id.properties.map((property: Node) => nameOf(property.value)) : [nameOf(id)],
    );
  });
}

it('imports every export of the source in another file', () => {
  const trees = new Map(
    files.map((file) => [file, parseSync(file, readFileSync(`${root}/${file}`, 'utf8')).program as unknown as Node]),
  );
  const imported = new Map<string, Set<string> | 'all'>();
  for (const [file, tree] of trees) {
    for (const { path, names } of importsOf(tree)) {
      const target = posix.join(posix.dirname(file), path);
      const before = imported.get(target) ?? new Set<string>();
      if (path.startsWith('.'))
        imported.set(target, names === null || before === 'all' ? 'all' : new Set([...before, ...names]));
    }
  }
  expect(imported.size).toBeGreaterThan(1_000);
  const unused = [...trees].flatMap(([file, tree]) => {
    const used = imported.get(file) ?? new Set();
    const read = READ_BY_NAME[file]?.names ?? [];
    if (!file.startsWith('src/') || file.endsWith('.d.ts') || used === 'all') return [];
    return exportsOf(tree).flatMap((name) => (used.has(name) || read.includes(name) ? [] : [`${file}: ${name}`]));
  });
  expect(unused.sort()).toEqual([]);
});
