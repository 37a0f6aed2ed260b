"""Kinds of work: which words of a memory name one, which commands do it, which files it is done in.

Only what is so for every user of a program. A kind of work that is not here is found by the commands that a memory names.
"""

from __future__ import annotations

import re
from functools import cache

from memoryd.record import NamedTuple


class Work(NamedTuple):
    """A kind of work, as memories speak of it and as calls do it. Lists have semicolons between their items."""

    name: str
    phrases: str
    """A memory speaks of it that has all words of a phrase, or another word for the same concept, in any language. `<delete>`: a
    word of that list in language/data/actions.toml. `^` before a word: the text begins with it."""
    commands: str = ""
    """`+` at the end: with something behind it."""
    target: str = ""
    """Begins the name of a script or target that does it, as in `make deploy`."""
    part_of: str = ""
    """The wider kind: a memory that names this one says nothing about all of that."""
    is_in_files: bool = False
    """Whether such a change of files is this work also where a memory speaks of running something."""
    is_vague: bool = False
    """Whether its phrases count only where a memory names nothing plainer."""
    paths: str = ""
    """Pattern of the files that it is done in, from the start of a folder's or file's name."""
    writes: str = ""
    """Pattern of what is written when it is done."""


_MANIFEST = r"(?:package\.json|pyproject\.toml|Cargo\.toml|setup\.(?:py|cfg)|pom\.xml|build\.gradle(?:\.kts)?|composer\.json|pubspec\.yaml"
_MANIFEST += r"|requirements[\w.-]*\.txt|go\.mod|Gemfile|Pipfile|mix\.exs|Package\.swift|libs\.versions\.toml|[\w.-]+\.(?:csproj|gemspec|podspec))$"

WORK = (
    Work("commit", "<commit>; commit message", "git commit"),
    Work("amend", "amend", "git commit --amend", part_of="commit"),
    Work("push", "<push>", "git push"),
    Work("force push", "force push; force <push>", "git push --force; git push --force-with-lease", part_of="push"),
    Work(
        "push to main",
        "<push> main; <push> master; <commit> main; <commit> master; <merge> main; <merge> master; work main",
        part_of="push",
    ),
    Work("branch", "^branch; branch name; new branch; create branch", "git checkout -b; git switch -c; git branch +"),
    Work(
        "delete branch",
        "delete branch; <delete> branch",
        "git push --delete; git branch -D; git branch -d",
        part_of="branch",
    ),
    Work("merge", "<merge>; squash", "git merge; gh pr merge; glab mr merge"),
    Work("rebase", "rebase", "git rebase; git pull --rebase"),
    Work("stash", "stash", "git stash"),
    Work(
        "discard changes",
        "discard change; uncommitted change; hard reset; untracked",
        "git reset --hard; git clean; git checkout --; git restore; git stash",
    ),
    Work("pull request", "pull request", "gh pr create; glab mr create; hub pull-request"),
    Work(
        "deploy",
        "deploy; go live",
        """
        kubectl apply; kubectl set image; kubectl rollout restart; kubectl replace; kustomize build; helm upgrade;
        helm install; helmfile apply; helmfile sync; argocd app sync; flux reconcile; terraform apply; tofu apply;
        pulumi up; cdk deploy; sam deploy; serverless deploy; sls deploy; flyctl deploy; vercel --prod;
        netlify deploy; firebase deploy; wrangler deploy; kamal deploy; gcloud run deploy; gcloud app deploy;
        eb deploy; aws ecs update-service; aws lambda update-function-code; docker stack deploy; nomad job run;
        ansible-playbook; skaffold run
        """,
        target="deploy",
    ),
    Work("change production", "<production>"),
    Work(
        "roll back", "rollback; roll back", "helm rollback; kubectl rollout undo", target="rollback", part_of="deploy"
    ),
    Work(
        "release",
        "release; <version>; publish package",
        """
        git tag +; gh release create; glab release create; goreleaser; semantic-release; release-it; npm publish;
        pnpm publish; yarn publish; yarn npm publish; lerna publish; changeset publish; npm version; yarn version;
        pnpm version; poetry version; hatch version; bump-my-version; bump2version; cargo publish; cargo release;
        twine upload; uv publish; poetry publish; flit publish; gem push; mvn release:prepare; mvn versions:set;
        mvn deploy; gradle publish; gradlew publish; pod trunk push
        """,
        target="releas",
        is_in_files=True,
        paths=rf"{_MANIFEST}|(?:VERSION|version\.\w+|__init__\.py|_version\.py)$",
        writes=r"^\s*(?:[\"']?(?:__)?version(?:__)?[\"']?|VERSION)\s*[:=]|^\s*<version>",
    ),
    Work(
        "test",
        "<test>",
        """
        pytest; tox; nox; jest; vitest; mocha; ava; karma; rspec; phpunit; pest; bats; ctest; go test; gotestsum;
        ginkgo; cargo test; cargo nextest; dotnet test; mix test; swift test; flutter test; xcodebuild test;
        sbt test; deno test; playwright test; cypress run; unittest
        """,
        target="test",
        paths=r"(?:tests?|specs?|__tests__|androidTest)/|(?:test_[\w.-]+|[\w.-]+(?:[._-](?:test|spec)|Test|Tests|Spec))\.\w+$",
    ),
    Work(
        "dependency",
        "dependency; add package; new package; new library; add library; gem; crate",
        """
        npm install +; pnpm add; yarn add; bun add; bun install +; deno add; pip install +; uv add; uv pip install;
        poetry add; pipenv install +; pdm add; conda install; cargo add; go get +; gem install; bundle add;
        composer require; dotnet add; nuget install; flutter pub add; dart pub add; mix deps.get; pod install
        """,
        is_in_files=True,
        paths=_MANIFEST,
        writes=(
            r"^\s*(?:[\w-]+:\s+\^?\d+\.|[\"'][@\w./-]+[\"']\s*:\s*[\"'][\^~>=<*]?\d|[\"'][\w.\[\]-]+\s*[=<>~!]=?[^\"']*[\"'],?$|gem\s+[\"']"
            r"|[\w-]+\s*=\s*(?:[\"'][\^~>=]*\d|\{.*version)|(?:\w*[iI]mplementation|api|compileOnly|kapt|ksp)[\s(]|<dependency>"
            r"|[\w.-]+(?:\[\w+\])?[=~><]=\s*\d|(?:require\s+)?[\w.-]+\.[a-z]+/\S+\s+v\d|\{:\w+,|<PackageReference)"
        ),
    ),
    Work(
        "update dependencies",
        "update dependency; upgrade dependency; bump dependency; update package; upgrade package",
        """
        npm update; yarn upgrade; yarn up; pnpm update; bundle update; composer update; cargo update;
        poetry update; uv lock --upgrade; go get -u; pip install --upgrade; pip install -U; mix deps.update
        """,
        part_of="dependency",
    ),
    Work(
        "migration",
        "migration; migrate",
        """
        alembic; prisma migrate; prisma db push; flyway migrate; liquibase update; goose; dbmate; knex;
        manage.py migrate; manage.py makemigrations; mix ecto.migrate; diesel migration; dotnet ef; sqlx migrate;
        rails generate migration; artisan make:migration
        """,
        target="migrat",
        paths=r"(?:migrations?|migrate)/",
    ),
    Work(
        "format",
        "format",
        """
        black; ruff format; isort; yapf; autopep8; prettier; dprint; biome format; gofmt; gofumpt; goimports;
        go fmt; cargo fmt; rustfmt; clang-format; terraform fmt; mix format; dart format; shfmt
        """,
        target="fmt",
    ),
    Work(
        "lint",
        "lint",
        """
        eslint; stylelint; biome; oxlint; ruff check; flake8; pylint; cargo clippy; golangci-lint; go vet; rubocop;
        shellcheck; hadolint; ktlint; detekt; swiftlint; phpstan; tflint; markdownlint; vale
        """,
        target="lint",
    ),
    Work(
        "start server",
        "dev server; development server; <start> server; server running; server already",
        """
        npm start; npm run dev; npm run start; yarn dev; yarn start; pnpm dev; pnpm start; bun dev; vite; next dev;
        nuxt dev; astro dev; ng serve; webpack serve; nodemon; expo start; rails s; flask run; uvicorn; gunicorn;
        fastapi dev; manage.py runserver; artisan serve; php -S; gradle bootRun; gradlew bootRun;
        mvn spring-boot:run; dotnet watch; air; mix phx.server
        """,
        target="serve",
    ),
    Work(
        "image",
        "docker image; image tag; image build; build image; base image; container image",
        """
        docker build; docker buildx build; docker push; docker tag; docker compose build; podman build;
        podman push; buildah; skopeo copy
        """,
        paths=r"(?:Dockerfile|Containerfile)(?:\.[\w-]+)?$|[\w-]+\.[Dd]ockerfile$",
    ),
    Work(
        "install on the machine",
        """
        install system; install global; install machine; install laptop; install computer; global package
        """,
        """
        brew install; apt install; apt-get install; dnf install; yum install; pacman -S; snap install;
        npm install -g; npm install --global; yarn global add; pnpm add -g; cargo install; go install;
        pipx install
        """,
    ),
    Work("run a script from the web", "<web_script>"),
    Work(
        "secret",
        "secret; password; credential; api key",
        is_in_files=True,
        paths=r"\.env(?:\.\w+)*$|[\w.-]*(?:credentials?|secrets?)[\w.-]*$|id_(?:rsa|ed25519)$|[\w.-]+\.(?:pem|p12|keystore|jks)$",
    ),
    Work("delete", "<delete>", "rm; git clean; git rm; shred; rmdir", is_vague=True),
    Work(
        "restart",
        "restart",
        "systemctl restart; kubectl rollout restart; docker restart; pm2 restart",
        target="restart",
    ),
    Work("kill a process", "kill", "kill; pkill; killall"),
    Work(
        "reset database",
        "reset database; wipe database; drop database; <delete> database",
        "rails db:reset; rails db:drop; rake db:reset; dropdb; prisma migrate reset; manage.py flush",
    ),
    Work(
        "snapshot",
        "snapshot test; update snapshot",
        "jest -u; jest --updateSnapshot; vitest -u; flutter test --update-goldens",
        part_of="test",
        paths=r"[\w.-]+\.snap$",
    ),
    Work(
        "ci",
        "github action; ci workflow; ci pipeline; ci config; ci job",
        "gh workflow run; gh run rerun",
        is_vague=True,
        paths=r"\.github/workflows/|\.gitlab-ci\.yml$|\.circleci/|Jenkinsfile$|azure-pipelines\.yml$",
    ),
    Work(
        "translation",
        "translation; locale",
        paths=r"(?:locales?|i18n|translations?|lang)/|[\w.-]+\.po$|values(?:-\w+)?/strings\.xml$",
    ),
    Work("documentation", "documentation; ^doc", is_vague=True, paths=r"docs?/|[\w.-]+\.(?:md|mdx|rst|adoc)$"),
)
"""Of several that fit a text, all count; a narrower one stands for the wider one that it is part of."""

IN_SCRIPTS = frozenset({"test", "dependency", "format", "lint", "image", "start server", "run a script from the web"})
"""Kinds that a rule tells how to do: also where the commands are written into a script or a build file."""


@cache
def by_name() -> dict[str, Work]:
    return {work.name: work for work in WORK}


def items(table: str) -> tuple[str, ...]:
    return tuple(item.strip() for item in table.split(";") if item.strip())


@cache
def commands_of(name: str) -> tuple[str, ...]:
    return items(by_name()[name].commands)


@cache
def done_in(name: str) -> re.Pattern[str] | None:
    """Pattern of the paths that a kind of work is done in."""
    paths = by_name()[name].paths
    return re.compile(rf"(?:^|.*/)(?:{paths})", re.IGNORECASE) if paths else None


@cache
def written_by(name: str) -> re.Pattern[str] | None:
    """Pattern of what is written when it is done."""
    writes = by_name()[name].writes
    return re.compile(writes, re.MULTILINE) if writes else None
