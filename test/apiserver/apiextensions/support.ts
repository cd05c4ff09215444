/** A CustomResourceDefinition of one version with a spec of free form, unless said otherwise. */
export function definition(
  plural: string,
  {
    kind = 'Widget',
    group = 'example.com',
    names = {},
    version = {},
    spec = {},
  }: Partial<{
    readonly kind: string;
    readonly group: string;
    readonly names: object;
    readonly version: object;
    readonly spec: object;
  }> = {},
): object {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural, kind, ...names },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: {
              type: 'object',
              properties: { spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
            },
          },
          ...version,
        },
      ],
      ...spec,
    },
  };
}

/** A version's schema. */
export const schema = (openAPIV3Schema: object): object => ({ schema: { openAPIV3Schema } });

export const definitionsPath = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
