/** Addresses of a server's calls. */
export interface Address {
  origin: string;
  /** For the log only; never shown to clients. */
  host: string;
  /** Full path below the base of the URL, with its query. */
  path: (path: string) => string;
  /** Full path below the base without its final `/v1`. */
  rootPath: (path: string) => string;
  /** Parts of the address to remove from messages. */
  secrets: string[];
}

/**
 * @param url configured base. `{model}` in it stands for the model's name, and a query is kept for every call:
 * `https://me.openai.azure.com/openai/deployments/{model}?api-version=2024-10-21`
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
