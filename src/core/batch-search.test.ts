import { describe, expect, it } from 'vitest';
import { batchName, searchText, searchWords } from './batch-search.ts';

const batch = (inputName: string | null, metadata: unknown = null) => ({
  id: 'batch_1',
  inputName,
  metadata: metadata === null ? null : JSON.stringify(metadata),
});

describe('the name of a batch', () => {
  it('is that of its metadata, else the file name of its input', () => {
    expect(batchName(batch('a.jsonl', { name: 'nightly' }))).toBe('nightly');
    for (const metadata of [null, {}, { name: '' }, { name: 7 }, { a: { name: 'x' } }])
      expect(batchName(batch('a.jsonl', metadata))).toBe('a.jsonl');
    expect(batchName(batch(null))).toBeNull();
    expect(batchName({ inputName: null, metadata: '{"name": damaged' })).toBeNull();
  });
});

describe('the text that a search looks through', () => {
  it('has the id, the file name and all values of the metadata, in lower case', () => {
    const metadata = { Team: 'ÜBER', run: { of: ['A', 7, true, null] } };
    expect(searchText(batch('Input.JSONL', metadata))).toBe('batch_1\ninput.jsonl\nüber\na\n7\ntrue');
  });

  it('has no names of the metadata, is bounded, and can be stored', () => {
    expect(searchText(batch(null, { secretname: 'v' }))).not.toContain('secretname');
    expect(searchText(batch(null, { a: 'x'.repeat(9_000) }))).toHaveLength(4_096);
    expect(searchText(batch(null, { a: 'x\0y\ud800' }))).toBe('batch_1\n\nxy\ufffd');
  });

  it('is searched for words in any case and form of accents', () => {
    expect(searchWords('  U\u0308ber\tNACHT ')).toEqual(['\u00fcber', 'nacht']);
    expect(searchWords(' ')).toEqual([]);
  });
});
