from iclr26_core import Job, Method, hookimpl


@hookimpl
def iclr26_methods():
    jobs = (
        Job(
            name="minimise",
            target="descent.work:minimise",
            config="descent.work:Minimise",
            summary="minimise a quadratic",
            resumable=True,
        ),
        Job(name="leave", target="descent.work:leave", config="descent.work:Leave", summary="call sys.exit"),
    )
    return [
        Method(
            name="descent",
            kind="optimizer",
            target="descent.work:Descent",
            jobs=jobs,
            claims="descent.work:claims",
            summary="Gradient descent on a quadratic",
            title="Méthode générale pour la résolution des systèmes d'équations simultanées",
            paper="https://gallica.bnf.fr/ark:/12148/bpt6k2982c",
            baselines=("momentum",),
        )
    ]
