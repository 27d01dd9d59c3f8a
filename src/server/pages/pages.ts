import type { Answer } from '../answer.ts';
import type { Incoming, MountedRoute } from '../route.ts';
import { moved, text } from './answers.ts';
import { kept } from './kept.ts';

/**
 * What people read of a server, without a key: the pages of `docs/`, each as Markdown too, their index for language models, and
 * the reference of the API. They are no operations of the API. All is loaded, read and made when it is first asked for.
 */
export function createPages(): MountedRoute[] {
  const site = kept(async () => (await import('./site.ts')).loadSite());
  const show = async (path: string, method: string) => (await site())(path, method);
  return [
    page('/', async () => moved('docs/', 302)),
    page('/docs', async () => moved('docs/')),
    page('/docs/*', ({ param, method }) => show(param, method)),
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

/** Whether gzip is named, and not with a weight of zero. */
function takesGzip(accepted = ''): boolean {
  return /\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))/i.test(accepted);
}

function page(path: string, handle: (incoming: Incoming) => Promise<Answer>): MountedRoute {
  return { method: 'GET', path, access: 'open', handle };
}
