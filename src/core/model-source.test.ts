import { describe, expect, it } from 'vitest';
import { type RemoteSource, localParts, readModelSource, formatSource } from './model-source.ts';

describe('readModelSource', () => {
  it.each([
    ['model.gguf', { kind: 'path', path: 'model.gguf' }],
    ['/srv/a.gguf', { kind: 'path', path: '/srv/a.gguf' }],
    ['C:\\models\\a.gguf', { kind: 'path', path: 'C:\\models\\a.gguf' }],
    ['hf:o/r/f.gguf', { kind: 'hub', repo: 'o/r', revision: 'main', file: 'f.gguf' }],
    [
      'HF:o/r@v2/Q4/f-00001-of-00002.gguf',
      { kind: 'hub', repo: 'o/r', revision: 'v2', file: 'Q4/f-00001-of-00002.gguf' },
    ],
    ['https://h/a/b.gguf?sig=x', { kind: 'url', url: 'https://h/a/b.gguf?sig=x' }],
    ['http://127.0.0.1:9/b.gguf', { kind: 'url', url: 'http://127.0.0.1:9/b.gguf' }],
    ['http://localhost/b.gguf', { kind: 'url', url: 'http://localhost/b.gguf' }],
  ])('reads %s', (text, source) => expect(readModelSource(text)).toEqual(source));

  it.each([
    ['hf:', 'is not a valid hub reference'],
    ['hf:owner/repo', 'is not a valid hub reference'],
    ['hf:owner/../f.gguf', 'is not a valid hub reference'],
    ['hf:o/r/../../f.gguf', 'is not a valid hub reference'],
    ['hf:o/r/.hidden/f.gguf', 'is not a valid hub reference'],
    ['hf:o/r/f.safetensors', 'must end in .gguf'],
    ['http://example.org/f.gguf', 'must be an https:// URL'],
    ['http://127.0.0.1.example.org/f.gguf', 'must be an https:// URL'],
    ['ftp://h/f.gguf', 'must be an https:// URL'],
    ['https://u:p@h/f.gguf', 'must not contain a user name or password'],
    ['https://h/page', 'must end in .gguf'],
    ['https://h/..%2f..%2ff.gguf', 'must end in .gguf'],
    ['https://h/a%00.gguf', 'must end in .gguf'],
    ['https://h/%zz.gguf', 'must end in .gguf'],
    ['https://', 'is not a valid URL'],
  ])('rejects %s', (text, problem) => {
    expect(readModelSource(text)).toMatchObject({
      kind: 'wrong',
      problem,
      hint: expect.stringMatching(/\.$/),
    });
  });
});

it.each([
  ['hf:o/r/sub/f.gguf', 'o/r/sub/f.gguf', 'hf:o/r/sub/f.gguf'],
  ['hf:o/r@abc/f.gguf', 'o/r@abc/f.gguf', 'hf:o/r@abc/f.gguf'],
  ['https://host:8443/a%20b/f.gguf?token=secret#x', 'host_8443/a b/f.gguf', 'https://host:8443/a%20b/f.gguf'],
])('%s has its own path and a display form', (text, place, shown) => {
  const source = readModelSource(text) as RemoteSource;
  expect(localParts(source).join('/')).toBe(place);
  expect(formatSource(source)).toBe(shown);
});
