from iclr26_core import Job, Method, hookimpl


@hookimpl
def iclr26_methods():
    jobs = (
        Job(name="run", target="{module}.work:run", config="{module}.work:Config", resumable=True),
        Job(name="other", target="{module}.work:run", config="{module}.work:Config"),
    )
    return [
        Method(
            name="{name}",
            kind="optimizer",
            target="{module}.work:Thing",
            jobs=jobs,
            claims="{module}.work:claims",
            summary="Summary of {name}",
            title="A paper about {name} & <more>",
            paper="https://example.org/{name}",
        )
    ]
