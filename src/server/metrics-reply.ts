import type { MetricFamily } from '../metrics/family.ts';
import type { ServerRequest, Reply } from './reply.ts';
import { wantsOpenMetrics, openMetricsText, openMetricsType } from '../metrics/open-metrics.ts';
import { gzipSync } from 'node:zlib';
import { metricsText, contentType, takesGzip } from '../metrics/metrics.ts';

/**
 * Returns metric families as a reply, compressed for clients that accept it. @param open whether OpenMetrics is served to clients that
 * accept it
 */
export function metricsReply(
  families: readonly MetricFamily[],
  { headers }: ServerRequest,
  open: boolean,
): Reply {
  const isOpen = open && wantsOpenMetrics(headers.accept);
  const body = isOpen ? openMetricsText(families) : metricsText(families);
  const type = { 'Content-Type': isOpen ? openMetricsType : contentType };
  if (!takesGzip(headers['accept-encoding'])) return { status: 200, headers: type, body };
  return { status: 200, headers: { 'Content-Encoding': 'gzip', ...type }, body: gzipSync(body) };
}
