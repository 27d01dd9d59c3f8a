import type * as Http from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import type * as Ws from 'ws';
import { loadPackage } from '../../base/load-package.ts';

/** Routes upgrade requests through the hooks and routes of ordinary requests, where `complete` upgrades them. */
export function routeUpgrades(app: FastifyInstance, maxPayload: number) {
  // An `import` would read all exports, one of which loads a whole HTTP client.
  const { ServerResponse } = loadPackage('node:http') as typeof Http;
  const upgrades = new WeakMap<Http.IncomingMessage, { socket: Duplex; head: Buffer }>();
  let server: Ws.WebSocketServer | undefined;

  app.server.on('upgrade', (request, socket, head) => {
    // Node no longer handles errors of this socket.
    socket.on('error', cut);
    upgrades.set(request, { socket, head });
    const refusal = new ServerResponse(request);
    refusal.assignSocket(socket as Socket);
    refusal.once('finish', () => socket.destroy());
    app.routing(request, refusal);
  });

  return {
    /** True for an upgrade request, whose connection Node has released. */
    isUpgraded: (request: Http.IncomingMessage) => upgrades.has(request),
    /** Completes the WebSocket handshake of a request. @returns what is wrong with an invalid one, which is not answered */
    complete: (request: Http.IncomingMessage, take: (socket: Ws.WebSocket) => void): string | undefined => {
      const { socket, head } = upgrades.get(request)!;
      const { WebSocketServer } = loadPackage('ws') as typeof Ws;
      const options = { maxPayload, perMessageDeflate: false, noServer: true, clientTracking: false };
      server ??= new WebSocketServer(options);
      // From here on the library handles its errors.
      socket.off('error', cut);
      let fault: string | undefined;
      const onFault = ({ message }: Error) => (fault = message);
      server.once('wsClientError', onFault);
      server.handleUpgrade(request, socket, head, take);
      server.off('wsClientError', onFault);
      return fault;
    },
  };
}

function cut(this: Duplex): void {
  this.destroy();
}
