import { describe, expect, it } from 'vitest';
import { createChecker } from './source-value.ts';
import { parseSourceYaml } from './source-yaml.ts';

function read(text: string, variables: Record<string, string> = {}) {
  const check = createChecker();
  const root = parseSourceYaml(text, 'a.yaml', (name) => variables[name], check);
  return { check, root };
}

describe('parseLocatedYaml', () => {
  it('gives every value its path and line', () => {
    const { check, root } = read('a:\n  - b: 1\n    c: x\n');
    const item = check.list(check.object(root, ['a']).a)?.[0];
    const fields = check.object(item, ['b', 'c']);
    expect(fields.b).toMatchObject({ path: 'a[0].b', line: 2, value: 1 });
    expect(fields.c).toMatchObject({ path: 'a[0].c', line: 3, value: 'x' });
    expect(check.problems).toEqual([]);
  });

  it('replaces variables, takes their numbers, and leaves a doubled dollar alone', () => {
    const { check, root } = read('a: ${PORT}\nb: x-${NAME}-y\nc: $${NAME}\n', { PORT: '80', NAME: 'n' });
    const { a, b, c } = check.object(root, ['a', 'b', 'c']);
    expect([check.whole(a), check.text(b), check.text(c)]).toEqual([80, 'x-n-y', '${NAME}']);
  });

  it('names a variable that is not set, and the line that wants it', () => {
    const { check } = read('a: 1\nb: ${NOPE}\n');
    expect(check.problems).toMatchObject([{ line: 2, message: 'b: ${NOPE} is not set' }]);
  });

  it.each([
    ['a: ${file:/nope}', 'a: ${file:/nope} cannot be read'],
    ['a: ${KEY:-none}', 'a: ${KEY:-none} does not name a variable'],
    ['a: x-${KEY', 'a: has a ${ without its }'],
    ['a: 1\n---\na: 2\n', 'expected one document, found another after ---'],
  ])('explains what is wrong with %j', (text, message) => {
    const { check } = read(text, { KEY: 'k' });
    expect(check.problems).toMatchObject([{ message }]);
  });

  it('never quotes what came out of a variable', () => {
    const { check, root } = read('a: ${KEY}', { KEY: 'very-secret' });
    check.whole(check.object(root, ['a']).a);
    expect(JSON.stringify(check.problems)).not.toContain('very-secret');
    expect(check.problems).toHaveLength(1);
  });

  it('gives the bounds alone of a number that came out of a variable', () => {
    const { check, root } = read('a: ${PORT}\nb: 99999\n', { PORT: '99999' });
    const { a, b } = check.object(root, ['a', 'b']);
    for (const port of [a, b]) check.whole(port, { min: 0, max: 65_535 });
    expect(check.problems.map(({ message }) => message)).toEqual([
      'a: must be from 0 to 65535',
      'b: must be from 0 to 65535, not 99999',
    ]);
  });

  it.each([
    ['a: 1\na: 2\n', 2],
    ['a: [1\nb: 2\n', 2],
    ['a: "x\n', 2],
  ])('reports %j as broken with its line', (text, line) => {
    const { check, root } = read(text);
    expect(root).toBeUndefined();
    expect(check.problems[0]?.line).toBeGreaterThanOrEqual(1);
    expect(check.problems[0]?.line).toBeLessThanOrEqual(line);
  });

  it('follows an alias, and ends at one that points to its own ancestor', () => {
    const shared = read('a: &x { b: 1 }\nc: *x\n');
    expect(shared.check.object(shared.check.object(shared.root, ['a', 'c']).c, ['b']).b?.value).toBe(1);
    expect(read('a: &x [ *x ]\n').check.problems[0]?.message).toContain('nested too deeply');
  });
});

describe('createChecker', () => {
  it('suggests the nearest known key', () => {
    const { check, root } = read('prot: 1\n');
    check.object(root, ['host', 'port']);
    expect(check.problems).toEqual([
      { file: 'a.yaml', line: 1, message: 'prot: unknown key', hint: "Did you mean 'port'?" },
    ]);
  });

  it.each([
    ['x: 1.5', (check: ReturnType<typeof createChecker>, at: never) => check.whole(at)],
    ['x: "1"', (check: ReturnType<typeof createChecker>, at: never) => check.number(at)],
    ['x: 7', (check: ReturnType<typeof createChecker>, at: never) => check.whole(at, { min: 8 })],
    ['x: 7', (check: ReturnType<typeof createChecker>, at: never) => check.text(at)],
    ['x: yes', (check: ReturnType<typeof createChecker>, at: never) => check.flag(at)],
    ['x: 5', (check: ReturnType<typeof createChecker>, at: never) => check.duration(at)],
    ['x: 5 weeks', (check: ReturnType<typeof createChecker>, at: never) => check.duration(at)],
    ['x: redd', (check: ReturnType<typeof createChecker>, at: never) => check.choice(at, ['red', 'blue'])],
    ['x: ftp://h', (check: ReturnType<typeof createChecker>, at: never) => check.url(at)],
    ['x: {}', (check: ReturnType<typeof createChecker>, at: never) => check.list(at)],
    ['x: ""', (check: ReturnType<typeof createChecker>, at: never) => check.text(at)],
  ])('refuses %j', (text, take) => {
    const { check, root } = read(text);
    expect(take(check, check.object(root, ['x']).x as never)).toBeUndefined();
    expect(check.problems).toHaveLength(1);
    expect(check.problems[0]).toMatchObject({ line: 1, message: expect.stringMatching(/^x: /) });
  });

  it('takes what is right', () => {
    const { check, root } = read('a: 30d\nb: true\nc: http://h:1/v1/\nd: red\n');
    const { a, b, c, d } = check.object(root, ['a', 'b', 'c', 'd']);
    expect([check.duration(a), check.flag(b), check.url(c), check.choice(d, ['red'])]).toEqual([
      2_592_000_000,
      true,
      'http://h:1/v1',
      'red',
    ]);
    expect(check.problems).toEqual([]);
  });
});
