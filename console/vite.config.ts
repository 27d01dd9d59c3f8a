import { join } from 'node:path';
import { defineConfig } from 'vite';

/** Server that `npm run dev:console` takes the API from. */
const server = process.env['OFFPEAK_URL'] ?? 'http://127.0.0.1:8080';

export default defineConfig(({ command }) => ({
  root: import.meta.dirname,
  // Files of the build find each other below any prefix; the server completes the paths of the page itself.
  base: command === 'build' ? './' : '/console/',
  resolve: {
    // The checks of input files are the server's own; only these modules of theirs need Node.
    alias: ['byte-text', 'load-package'].map((name) => ({
      find: new RegExp(`^.*/base/${name}\\.ts$`),
      replacement: join(import.meta.dirname, `src/browser/${name}.ts`),
    })),
  },
  worker: { format: 'es' },
  build: {
    outDir: '../dist/console',
    emptyOutDir: true,
    target: 'es2023',
    // The policy allows no inline scripts, and no data but images.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // A test measures the first load.
    chunkSizeWarningLimit: 1_000,
    rolldownOptions: {
      // Packages mark files for React's servers, which the console has none of. A slow machine is no reason for a warning.
      checks: { moduleLevelDirective: false, pluginTimings: false },
    },
  },
  server: {
    proxy: {
      '/console/api': server,
      '/console/session': server,
      '/docs': server,
    },
  },
}));
