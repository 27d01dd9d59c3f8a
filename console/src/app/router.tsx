import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router';
import { Root } from './root.tsx';
import { linesSearch } from '../screens/lines/search.ts';
import { NotFound, ScreenError, ScreenLoading } from './screen-states.tsx';

const root = createRootRoute({ component: Root, notFoundComponent: NotFound });

// One route for each screen. Its code is loaded when it is first opened, or pointed at.
const overview = createRoute({
  getParentRoute: () => root,
  path: '/',
  component: lazyRouteComponent(() => import('../screens/overview/overview.tsx'), 'Overview'),
});

const lines = createRoute({
  getParentRoute: () => root,
  path: '/batches/$batchId/lines',
  validateSearch: linesSearch,
  component: lazyRouteComponent(() => import('../screens/lines/lines.tsx'), 'Lines'),
});

export const router = createRouter({
  routeTree: root.addChildren([overview, lines]),
  basepath: '/console',
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
