import { createServer, type Server } from 'node:http';
import { contentType, metricsText } from '../metrics/metrics.ts';
import type { MetricObjects } from '../simulate/metric-objects.ts';
import { simulationMetrics, type SimulationState } from '../simulate/simulation-metrics.ts';

/** What is served: the state of a simulation, and the metrics that objects define. */
export interface ServedMetrics {
  readonly state: () => SimulationState;
  readonly objects: () => readonly MetricObjects[];
}

/** The path of Prometheus' HTTP service discovery, as kwok serves it. */
const discoveryPath = '/discovery/prometheus';

/**
 * Serves the metrics of a simulation on 127.0.0.1: its own at `/metrics`, those of Metric objects at their paths, and where they are at
 * `/discovery/prometheus`.
 */
export function serveMetrics({ state, objects }: ServedMetrics, port: number): Server {
  const server = createServer(({ url = '', headers }, response) => {
    const path = url.replace(/\?.*$/, '');
    const answer = (status: number, type: string, text: string): void => {
      response.writeHead(status, { 'Content-Type': type });
      response.end(text);
    };
    if (path === '/metrics') {
      answer(200, contentType, metricsText(simulationMetrics(state())));
      return;
    }
    if (path === discoveryPath) {
      const targets = objects().flatMap((part) => part.targets(headers.host ?? `127.0.0.1:${port}`));
      answer(200, 'application/json', JSON.stringify(targets));
      return;
    }
    const page = objects()
      .map((part) => part.page(path))
      .find((one) => one !== undefined);
    if (page === undefined)
      answer(404, 'text/plain', `404 page not found: see /metrics and ${discoveryPath}\n`);
    else answer(200, contentType, page);
  });
  return server.listen(port, '127.0.0.1');
}
