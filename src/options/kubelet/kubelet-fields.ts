import type { Field } from '../field.ts';
import type { KubeletConfiguration } from './kubelet-configuration.ts';
import { resourceFields } from './resource-fields.ts';
import { serviceFields } from './service-fields.ts';
import { upkeepFields } from './upkeep-fields.ts';

/** Every setting of `kubelet.config.k8s.io/v1beta1` (Kubernetes 1.36): the source of the schema, the defaults, the flags and docs/options.md. */
export const kubeletFields: Readonly<
  Record<Exclude<keyof KubeletConfiguration, 'apiVersion' | 'kind'>, Field>
> = { ...serviceFields, ...resourceFields, ...upkeepFields };
