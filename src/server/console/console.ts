import { moved } from '../pages/answers.ts';
import type { MountedRoute } from '../route.ts';
import type { Surface } from '../surface.ts';
import { sessionRoutes } from './session-routes.ts';
import { createStaticFiles } from './static-files.ts';

/** Prefix of the API of the console, whose paths are otherwise those of the API. */
export const consoleApi = '/console/api';

/** Routes of the console in addition to its surface of the API: its files and its session. */
export function createConsole(surface: Surface): MountedRoute[] {
  const showFile = createStaticFiles();
  return [
    { method: 'GET', path: '/console', access: 'open', handle: async () => moved('console/') },
    { method: 'GET', path: '/console/*', access: 'open', handle: showFile },
    { method: 'GET', path: '/console/', access: 'open', handle: showFile },
    ...sessionRoutes.map((route) => ({ ...route, surface })),
  ];
}
