import { moved } from '../pages/answers.ts';
import type { MountedRoute, Route } from '../route.ts';
import { sessionRoutes } from './session-routes.ts';
import { createStaticFiles } from './static-files.ts';

/** Prefix of the API of the console, whose paths are otherwise those of the API. */
export const consoleApi = '/console/api';

/**
 * Routes of the console: its files, its session, and the whole API once more, for the caller of the session. The handlers are the
 * same, so that the console can do what its key can, and nothing else.
 */
export function createConsole(routes: readonly Route[]): MountedRoute[] {
  const showFile = createStaticFiles();
  return [
    { method: 'GET', path: '/console', access: 'open', handle: async () => moved('console/') },
    { method: 'GET', path: '/console/*', access: 'open', handle: showFile },
    { method: 'GET', path: '/console/', access: 'open', handle: showFile },
    ...sessionRoutes,
    ...routes
      .filter(({ access }) => access !== 'open')
      .map((route): MountedRoute => ({ ...route, path: `${consoleApi}${route.path}`, isConsole: true })),
  ];
}
