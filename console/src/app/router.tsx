import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router';
import { consolePath } from '../api/base.ts';
import { keysSearch } from '../screens/keys/search.ts';
import { linesSearch } from '../screens/lines/search.ts';
import { readSearch as readOperationsSearch } from '../screens/operations/search.ts';
import { playgroundSearch } from '../screens/playground/search.ts';
import { parseBatchesSearch } from '../screens/batches/search.ts';
import { Root } from './root.tsx';
import { requestsSearch } from '../screens/requests/search.ts';
import { usageSearch } from '../screens/usage/search.ts';
import { NotFound, ScreenError, ScreenLoading } from './screen-states.tsx';

const root = createRootRoute({ component: Root, notFoundComponent: NotFound });

// One route for each screen. Its code is loaded when it is first opened, or pointed at.
const overview = createRoute({
  getParentRoute: () => root,
  path: '/',
  component: lazyRouteComponent(() => import('../screens/overview/overview.tsx'), 'Overview'),
});

const newBatch = createRoute({
  getParentRoute: () => root,
  path: '/batches/new',
  component: lazyRouteComponent(() => import('../screens/new-batch/new-batch.tsx'), 'NewBatch'),
});

const lines = createRoute({
  getParentRoute: () => root,
  path: '/batches/$batchId/lines',
  validateSearch: linesSearch,
  component: lazyRouteComponent(() => import('../screens/lines/lines.tsx'), 'Lines'),
});

const playground = createRoute({
  getParentRoute: () => root,
  path: '/playground',
  validateSearch: playgroundSearch,
  component: lazyRouteComponent(() => import('../screens/playground/playground.tsx'), 'Playground'),
});

const requests = createRoute({
  getParentRoute: () => root,
  path: '/requests',
  validateSearch: requestsSearch,
  component: lazyRouteComponent(() => import('../screens/requests/requests.tsx'), 'Requests'),
});

const operations = createRoute({
  getParentRoute: () => root,
  path: '/operations',
  validateSearch: readOperationsSearch,
  component: lazyRouteComponent(() => import('../screens/operations/operations.tsx'), 'Operations'),
});

const usage = createRoute({
  getParentRoute: () => root,
  path: '/usage',
  validateSearch: usageSearch,
  component: lazyRouteComponent(() => import('../screens/usage/usage.tsx'), 'Usage'),
});

const batches = createRoute({
  getParentRoute: () => root,
  path: '/batches',
  validateSearch: parseBatchesSearch,
  component: lazyRouteComponent(() => import('../screens/batches/batches.tsx'), 'Batches'),
});

const batch = createRoute({
  getParentRoute: () => root,
  path: '/batches/$batchId',
  component: lazyRouteComponent(() => import('../screens/batch/batch.tsx'), 'Batch'),
});

const keys = createRoute({
  getParentRoute: () => root,
  path: '/keys',
  validateSearch: keysSearch,
  component: lazyRouteComponent(() => import('../screens/keys/keys.tsx'), 'Keys'),
});

export const router = createRouter({
  routeTree: root.addChildren([
    overview,
    newBatch,
    lines,
    playground,
    requests,
    operations,
    usage,
    batches,
    batch,
    keys,
  ]),
  basepath: consolePath.slice(0, -1),
  defaultPreload: 'intent',
  defaultPendingComponent: ScreenLoading,
  defaultPendingMs: 200,
  defaultErrorComponent: ScreenError,
  scrollRestoration: true,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
