import { createServer, type Server } from 'node:http';
import { contentType, metricsText } from '../metrics/metrics.ts';
import type { MetricObjects } from '../simulate/metric-objects.ts';
import { simulationMetrics } from '../simulate/simulation-metrics.ts';
import type { Simulation } from '../simulate/simulation.ts';

/** The path of Prometheus' HTTP service discovery, as kwok serves it. */
const discoveryPath = '/discovery/prometheus';

/**
 * Serves the metrics of a simulation on 127.0.0.1: its own at `/metrics`, those of Metric objects at their paths, and where they are at
 * `/discovery/prometheus`.
 */
export function serveMetrics(simulation: Simulation, objects: MetricObjects, port: number): Server {
  const server = createServer(({ url = '', headers }, response) => {
    const path = url.replace(/\?.*$/, '');
    const answer = (status: number, type: string, text: string): void => {
      response.writeHead(status, { 'Content-Type': type });
      response.end(text);
    };
    if (path === '/metrics') {
      answer(200, contentType, metricsText(simulationMetrics(simulation)));
      return;
    }
    if (path === discoveryPath) {
      answer(200, 'application/json', JSON.stringify(objects.targets(headers.host ?? `127.0.0.1:${port}`)));
      return;
    }
    const page = objects.page(path);
    if (page === undefined)
      answer(404, 'text/plain', `404 page not found: see /metrics and ${discoveryPath}\n`);
    else answer(200, contentType, page);
  });
  return server.listen(port, '127.0.0.1');
}
