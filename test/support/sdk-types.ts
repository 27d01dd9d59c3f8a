// Sample values of the request types that an SDK's declarations define, to test that no field of an SDK counts as unknown.

import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseSync } from 'rolldown/utils';

/** Node of the syntax tree; its members depend on `type`. */
// oxlint-disable-next-line typescript/no-explicit-any
type Node = any;

/** Declarations of a file or of a namespace by name. A namespace and an interface may share a name. */
interface Scope {
  readonly types: Map<string, Node>;
  readonly namespaces: Map<string, Scope>;
  /** Names from other files; `*` for the whole file. */
  readonly imports: Map<string, { file: string; name: string }>;
  readonly outer: Scope | null;
  readonly file: string;
}

interface Found {
  node: Node;
  scope: Scope;
}

/**
 * Values of a type that together have every field of every variant: a union becomes the list of its variants, which suits a
 * check that looks into lists. Recursive types are followed once.
 */
export function createSdkTypes(folder: string) {
  const files = new Map<string, Scope>();

  function open(file: string): Scope {
    const known = files.get(file);
    if (known) return known;
    const scope = newScope(file, null);
    files.set(file, scope);
    fill(scope, parseSync(file, readFileSync(file, 'utf8')).program.body as Node[]);
    return scope;
  }

  function find(name: Node, scope: Scope): Found | undefined {
    if (name.type === 'Identifier') return findNamed(name.name, scope);
    const holder = findNamespace(name.left ?? name.object, scope);
    return holder && findNamed((name.right ?? name.property).name, holder);
  }

  function findNamed(name: string, scope: Scope): Found | undefined {
    const node = scope.types.get(name);
    if (node) return { node, scope };
    const imported = scope.imports.get(name);
    if (imported) return findNamed(imported.name, open(imported.file));
    return scope.outer ? findNamed(name, scope.outer) : undefined;
  }

  function findNamespace(name: Node, scope: Scope): Scope | undefined {
    if (name.type !== 'Identifier') {
      const holder = findNamespace(name.left, scope);
      return holder?.namespaces.get(name.right.name);
    }
    for (let at: Scope | null = scope; at; at = at.outer) {
      const own = at.namespaces.get(name.name);
      if (own) return own;
      const imported = at.imports.get(name.name);
      if (imported?.name === '*') return open(imported.file);
      if (imported) return open(imported.file).namespaces.get(imported.name);
    }
    return undefined;
  }

  function fieldsOf(node: Node, scope: Scope): Map<string, Found> {
    const all = new Map<string, Found>();
    for (const base of node.extends ?? [])
      for (const [name, found] of fieldsOfType(base.expression, base.typeArguments, scope))
        all.set(name, found);
    for (const member of (node.body?.body ?? node.members ?? []) as Node[])
      if (member.type === 'TSPropertySignature')
        all.set(member.key.name ?? member.key.value, { node: member.typeAnnotation.typeAnnotation, scope });
    return all;
  }

  function fieldsOfType(name: Node, typeArguments: Node, scope: Scope): Map<string, Found> {
    const [base] = (typeArguments?.params ?? []) as Node[];
    // Omit<X, ...> and the like: all fields of X are checked.
    const found = find(base?.typeName ?? name, scope);
    return found ? fieldsOf(found.node, found.scope) : new Map();
  }

  function samples({ node, scope }: Found, within: readonly Node[]): unknown[] {
    switch (node.type) {
      case 'TSUnionType':
        return node.types.flatMap((type: Node) => samples({ node: type, scope }, within));
      case 'TSLiteralType':
        return [node.literal.value];
      case 'TSArrayType':
        return samples({ node: node.elementType, scope }, within);
      case 'TSParenthesizedType':
        return samples({ node: node.typeAnnotation, scope }, within);
      case 'TSTypeReference': {
        const name = node.typeName;
        if (['Array', 'Iterable'].includes(name.name))
          return samples({ node: node.typeArguments.params[0], scope }, within);
        const found = find(name, scope);
        if (!found || within.includes(found.node)) return [];
        return samples(found, [...within, found.node]);
      }
      case 'TSTypeAliasDeclaration':
        return samples({ node: node.typeAnnotation, scope }, within);
      case 'TSInterfaceDeclaration':
      case 'TSTypeLiteral':
        return objects(fieldsOf(node, scope), within);
      default:
        return [];
    }
  }

  /** One object for each value of `type` and `role`. */
  function objects(fields: Map<string, Found>, within: readonly Node[]): unknown[] {
    let made: Record<string, unknown>[] = [{}];
    for (const [name, found] of fields) {
      const values = samples(found, within);
      const isKind = ['type', 'role'].includes(name) && values.every((value) => typeof value === 'string');
      if (isKind && values.length > 0)
        made = made.flatMap((each) => values.map((value) => ({ ...each, [name]: value })));
      else for (const each of made) each[name] = values.filter((value) => typeof value === 'object');
    }
    return made;
  }

  return {
    /** @param file below the folder, without its extension @param path name of the type, with its namespaces */
    samplesOf(file: string, path: string): Record<string, unknown>[] {
      const found = findNamed(path, open(join(folder, `${file}.d.ts`)));
      if (!found) throw new Error(`There is no type ${path} in ${file}.`);
      return samples(found, [found.node]) as Record<string, unknown>[];
    },
  };
}

const newScope = (file: string, outer: Scope | null): Scope => ({
  types: new Map(),
  namespaces: new Map(),
  imports: new Map(),
  outer,
  file,
});

function fill(scope: Scope, statements: readonly Node[]): void {
  for (const statement of statements) {
    if (statement.type === 'ImportDeclaration') importInto(scope, statement);
    const node = statement.declaration ?? statement;
    if (['TSInterfaceDeclaration', 'TSTypeAliasDeclaration'].includes(node?.type))
      scope.types.set(node.id.name, node);
    if (node?.type !== 'TSModuleDeclaration') continue;
    const inner = scope.namespaces.get(node.id.name) ?? newScope(scope.file, scope);
    scope.namespaces.set(node.id.name, inner);
    fill(inner, node.body.body);
  }
}

function importInto(scope: Scope, { source, specifiers }: Node): void {
  const file = join(dirname(scope.file), source.value.replace(/\.js$/, '.d.ts'));
  const path = file.endsWith('.d.ts') ? file : `${file}.d.ts`;
  if (!existsSync(path)) return;
  for (const specifier of specifiers)
    scope.imports.set(specifier.local.name, {
      file: path,
      name: specifier.type === 'ImportNamespaceSpecifier' ? '*' : (specifier.imported?.name ?? 'default'),
    });
}
