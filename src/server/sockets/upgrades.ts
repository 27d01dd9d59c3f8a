import type * as Http from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import type * as Ws from 'ws';
import { loadPackage } from '../../base/load-package.ts';

interface Upgrades {
  /** True if Node handed over the connection of an upgrade request. */
  isUpgraded: (request: Http.IncomingMessage) => boolean;
  /** Answers the handshake of a request and passes on the WebSocket that it becomes. */
  complete: (request: Http.IncomingMessage, take: (socket: Ws.WebSocket) => void) => void;
}

/** Sends requests to be upgraded through the hooks and routes that all others pass, where `complete` upgrades them. */
export function routeUpgrades(app: FastifyInstance, options: Ws.ServerOptions): Upgrades {
  // By `import`, all its names would be looked at, of which one loads a whole client.
  const { ServerResponse } = loadPackage('node:http') as typeof Http;
  const upgrades = new WeakMap<Http.IncomingMessage, { socket: Duplex; head: Buffer }>();
  let server: Ws.WebSocketServer | undefined;

  app.server.on('upgrade', (request, socket, head) => {
    // Node has let go of it.
    socket.on('error', cut);
    upgrades.set(request, { socket, head });
    const refusal = new ServerResponse(request);
    refusal.assignSocket(socket as Socket);
    refusal.once('finish', () => socket.destroy());
    app.routing(request, refusal);
  });

  return {
    isUpgraded: (request) => upgrades.has(request),
    complete(request, take) {
      const { socket, head } = upgrades.get(request)!;
      const { WebSocketServer } = loadPackage('ws') as typeof Ws;
      server ??= new WebSocketServer({ ...options, noServer: true, clientTracking: false });
      // From here on its errors are the library's.
      socket.off('error', cut);
      server.handleUpgrade(request, socket, head, take);
    },
  };
}

function cut(this: Duplex): void {
  this.destroy();
}
