import { processFamilies } from '../../metrics/process.ts';
import type { Collector } from './registry.ts';

/** The metrics of this process, as Prometheus' clients name them. */
export const processMetrics: Collector = { collect: processFamilies };
