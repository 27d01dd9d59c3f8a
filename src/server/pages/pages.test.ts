import { expect, it, vi } from 'vitest';
import type { Answer } from '../answer/answer.ts';
import type { Incoming, Services } from '../route.ts';
import { createPages } from './pages.ts';
import { loadSite } from './site.ts';

vi.mock('./site.ts', () => ({ loadSite: vi.fn<typeof loadSite>() }));

const pages = createPages({ console: true });
const get = (path: string, more: Partial<Incoming> = {}) =>
  pages
    .find((page) => page.path === path)!
    .handle({ param: '', method: 'GET', headers: {}, query: {}, ...more } as Incoming, {} as Services);

async function bytesOf(answer: Answer): Promise<Uint8Array> {
  for await (const whole of (answer.kind === 'bytes' && answer.bytes) || []) return whole;
  throw new Error('no bytes');
}

it.each(['', 'gzip'])(
  'holds the script of the reference once, however many ask for it: "%s"',
  async (accepted) => {
    const script = () =>
      get('/docs/api/scalar.js', { headers: { 'accept-encoding': accepted } }).then(bytesOf);
    const [first, second] = await Promise.all([script(), script()]);
    expect(first.length).toBeGreaterThan(1_000_000);
    expect(first === second).toBe(true);
    expect((await script()) === first).toBe(true);
  },
);

it('reads the pages again where they could not be read', async () => {
  const page: Answer = { kind: 'bytes', status: 200, headers: {}, bytes: null };
  vi.mocked(loadSite)
    .mockRejectedValueOnce(new Error('EMFILE'))
    .mockResolvedValueOnce(async () => page);
  await expect(get('/docs/*')).rejects.toThrow('EMFILE');
  expect(await get('/docs/*')).toBe(page);
  expect(await get('/llms.txt')).toBe(page);
});
