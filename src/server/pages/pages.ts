import { takesGzip } from '../request/accepted-encoding.ts';
import type { Answer } from '../answer/answer.ts';
import type { Incoming, MountedRoute } from '../route.ts';
import { moved, text } from './answers.ts';
import { memoizeAsync } from './memoize.ts';

/**
 * The pages that a server shows to people, without a key: those of `docs/` as HTML and as Markdown, their search, their index for
 * language models, and the API reference. Each is loaded and rendered when it is first requested.
 * @param console true to link the console
 */
export function createPages({ console }: { console: boolean }): MountedRoute[] {
  const site = memoizeAsync(async () => (await import('./site.ts')).loadSite({ console }));
  const show = async (path: string, method: string, query: unknown = '') =>
    (await site())(path, method, typeof query === 'string' ? query : '');
  return [
    page('/', async () => moved('docs/', 302)),
    page('/docs', async () => moved('docs/')),
    page('/docs/*', ({ param, method, query }) => show(param, method, query['q'])),
    page('/docs/api', async ({ method }) => {
      const { apiReference, referenceHeaders } = await import('./api-reference.ts');
      return text(method, apiReference, referenceHeaders);
    }),
    page('/docs/api/scalar.js', async ({ method, headers }) => {
      const { apiReferenceScript } = await import('./api-reference.ts');
      const zipped = takesGzip(headers['accept-encoding']);
      return text(method, await apiReferenceScript[zipped ? 'zipped' : 'plain'](), {
        'content-type': 'text/javascript; charset=utf-8',
        ...(zipped && { 'content-encoding': 'gzip' }),
        'x-content-type-options': 'nosniff',
        'cache-control': 'max-age=3600',
        vary: 'accept-encoding',
      });
    }),
    page('/llms.txt', ({ method }) => show('../llms.txt', method)),
  ];
}

function page(path: string, handle: (incoming: Incoming) => Promise<Answer>): MountedRoute {
  return { method: 'GET', path, access: 'open', handle };
}
