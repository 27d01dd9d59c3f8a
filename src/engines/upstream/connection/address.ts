/** Where the calls of a server go. */
export interface Address {
  origin: string;
  /** For the log; no client is told it. */
  host: string;
  /** Behind the base of the URL, with its query. */
  path: (path: string) => string;
  /** Beside it: `/v1` at the end of the base is not in it. */
  rootPath: (path: string) => string;
  /** What nobody may be told of it. */
  secrets: string[];
}

/**
 * @param url the base, as it is configured: `{model}` in it stands for the name of the model, a query is kept for every
 * call (`https://me.openai.azure.com/openai/deployments/{model}?api-version=2024-10-21`)
 */
export function addressOf(url: string, model: string): Address {
  const { origin, host, hostname, pathname, search, searchParams } = new URL(url);
  const name = encodeURIComponent(model);
  const base = pathname.replaceAll('%7Bmodel%7D', name).replace(/\/+$/, '');
  const root = base.replace(/\/v1$/, '');
  return {
    origin,
    host,
    path: (path) => base + path.replaceAll('{model}', name) + search,
    rootPath: (path) => root + path + search,
    secrets: [host, hostname, ...searchParams.values()],
  };
}
