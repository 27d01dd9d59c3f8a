// Loaded into server processes that tests start (`--import`): `kind: scripted` is the directed engine there.
import { registerHooks } from 'node:module';

const directed = new URL('directed-engine.ts', import.meta.url).href;
const source = `export { createDirectedEngine as createScriptedEngine } from '${directed}';`;

registerHooks({
  resolve(specifier, context, next) {
    const isReplaced =
      specifier.endsWith('/scripted/scripted.ts') && context.parentURL?.endsWith('/src/app/models.ts');
    if (!isReplaced) return next(specifier, context);
    return { url: `data:text/javascript,${encodeURIComponent(source)}`, shortCircuit: true };
  },
});
